"""A partitioned program with everything that reports on it need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.mesh import Mesh
from sdy.report.explain import Explainer


@dataclass(frozen=True)
class ReportedProgram:
    """A program as written by the user, partitioned on global shapes, and as each device runs it.

    `mesh` has the devices that run the program. `source_lines` maps lines of `text` to the lines of another program it
    was generated from. `argument_names` are the names of the arguments in JAX, if known.
    """

    written: ModuleOp
    global_module: ModuleOp
    local: ModuleOp
    mesh: Mesh
    explainer: Explainer
    text: str
    source_lines: Mapping[int, str]
    argument_names: Sequence[str]
    remarks: Sequence[Diagnostic]
