"""All diagnostic codes, with a cause and a fix for each.

Codes are stable: tests match them, people read the messages. The letter of a code names its subject:
P: text that does not parse. S: shardings and meshes, S4xx the findings of `sdy lint`. R: sharding rules.
D: ops that do not verify. T: tools, passes and files. L: lowering to per-device code. V: proofs. X: execution.
C: contracts that a program broke. M: programs of several meshes. N: notebooks, editors and web pages.
"""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code
from sdy.diagnostics.code_tables.execution import EXECUTION
from sdy.diagnostics.code_tables.mpmd import MPMD
from sdy.diagnostics.code_tables.ops import OPS
from sdy.diagnostics.code_tables.parsing import PARSING
from sdy.diagnostics.code_tables.partitioning import PARTITIONING
from sdy.diagnostics.code_tables.shardings import SHARDINGS
from sdy.diagnostics.code_tables.tools import TOOLS

CODES: dict[str, Code] = PARSING | SHARDINGS | OPS | TOOLS | PARTITIONING | EXECUTION | MPMD
