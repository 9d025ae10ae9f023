"""A program with a sharding on every value, still on whole tensors."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.module_text import print_module
from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement
from sdy.program.origin import Origin
from sdy.program.placed import Placed

R = TypeVar("R", default=list[Array])


@dataclass(frozen=True)
class PropagatedProgram(Placed[R]):
    """What the propagation pipeline makes of a program: all shardings are there and closed."""

    module: ModuleOp
    boundary: ProgramPlacement
    origin: Origin[R]

    def __str__(self) -> str:
        """The text of the module."""
        return print_module(self.module)
