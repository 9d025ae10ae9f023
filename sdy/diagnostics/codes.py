"""Every diagnostic code, with its cause and its cure. Codes are stable: tests match them, people read the words.

P: text that does not parse. S: shardings and meshes. D: ops that do not verify. R: sharding rules.
T: tools, passes and files. X: execution. L: lowering to per-device code.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """Why a diagnostic is given, and what to do about it."""

    cause: str
    cure: str


CODES: dict[str, Code] = {
    "SDY-P001": Code("The text does not follow the syntax at this place.", "Write one of the tokens that the hint lists."),
    "SDY-P002": Code("The op is not known, and unregistered dialects are not allowed.", "Check the name; or pass -allow-unregistered-dialect."),
}
