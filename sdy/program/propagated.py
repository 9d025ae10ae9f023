"""A program with a sharding on every value, still on whole tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.module_text import print_module
from sdy.interpreter.element_types import Array
from sdy.model.placement import Boundary
from sdy.program.on_jax import named_shardings
from sdy.program.origin import Origin

R = TypeVar("R", default=list[Array])


@dataclass(frozen=True)
class PropagatedProgram(Generic[R]):
    """What the propagation pipeline makes of a program: all shardings are there and closed."""

    module: ModuleOp
    boundary: Boundary
    origin: Origin[R]

    def input_shardings(self) -> object:
        """Where the arguments lie: JAX's `NamedSharding`s, arranged as the arguments. Raises: SdyError without JAX."""
        return self.origin.signature.argument_tree(named_shardings(self.boundary.arguments, self.origin.devices))

    def output_shardings(self) -> object:
        """Where the results lie: JAX's `NamedSharding`s, arranged as the results. Raises: SdyError without JAX."""
        return self.origin.signature.result_tree(named_shardings(self.boundary.results, self.origin.devices))

    def __str__(self) -> str:
        """The text of the module."""
        return print_module(self.module)
