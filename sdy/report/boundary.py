"""The arguments and results of the main function: the names that a user may call them, and their shardings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.dialects.ir.func_attrs import result_name
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding, function_result_sharding
from sdy.model.sharding import TensorSharding

_RESULT = re.compile(r"result (\d+)")


@dataclass(frozen=True, slots=True)
class BoundaryValue:
    """An argument or a result. `position` is its name by position: `%arg0`, or `result 0`.

    `jax_name` is its name in a JAX function (`params['up']`, `result['loss']`), or empty.
    """

    position: str
    jax_name: str
    type: Attribute
    sharding: TensorSharding | None

    @property
    def name(self) -> str:
        """The name in JAX; if it is unknown, `%arg0`, or `result[0]` as for a tuple in JAX."""
        return self.jax_name or _RESULT.sub(r"result[\1]", self.position)

    @property
    def names(self) -> tuple[str, str]:
        """All names that refer to the value."""
        return self.position, self.name


def boundary_values(module: ModuleOp, argument_names: Sequence[str] = ()) -> list[BoundaryValue]:
    """Return the arguments, then the results, of the main function."""
    return list(_boundary_values(main_function(module), argument_names))


def _boundary_values(func: FuncOp, argument_names: Sequence[str]) -> Iterator[BoundaryValue]:
    types = func.function_type
    names = argument_names or [""] * len(types.inputs)
    for index, (name, value_type) in enumerate(zip(names, types.inputs, strict=True)):
        yield BoundaryValue(f"%arg{index}", name, value_type, argument_sharding(func, index))
    for index, value_type in enumerate(types.outputs):
        sharding = function_result_sharding(func, index)
        yield BoundaryValue(f"result {index}", result_name(func, index), value_type, sharding)
