"""The global shapes and shardings of a program's arguments and results."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.diagnostics.wording import counted
from sdy.model.html_repr import HtmlRepr
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class TensorPlacement(HtmlRepr):
    """The global shape of a tensor and its sharding on a mesh; replicated if the program does not specify one."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    mesh: Mesh

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.sharding.dims))
        return f"TensorPlacement({'x'.join(map(str, self.shape)) or 'scalar'}, [{dims}])"


@dataclass(frozen=True, slots=True)
class ProgramPlacement(HtmlRepr):
    """The placement of the arguments and results of the main function, and the mesh that it runs on."""

    mesh: Mesh
    arguments: tuple[TensorPlacement, ...]
    results: tuple[TensorPlacement, ...]

    def __repr__(self) -> str:
        counts = counted(len(self.arguments), "argument"), counted(len(self.results), "result")
        return f"ProgramPlacement({', '.join(counts)}, {self.mesh!r})"
