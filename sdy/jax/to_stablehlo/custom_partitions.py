"""The Python functions of `jax.experimental.custom_partitioning` that a program calls, by the keys of its calls.

On shards, a call runs what its partition function returns for an array of that size that is not sharded: collectives
inside of the partition function are left out, since the sharding rule says what is reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, jaxpr_as_fun
from jax.sharding import NamedSharding, PartitionSpec

from sdy.interpreter.arrays.element_types import Array, DType

_PRIMITIVE = "custom_partitioning"


def custom_partitions(lowering: Any, params: Mapping[str, object]) -> dict[str, Callable[..., Sequence[Array]]]:
    """Return the functions of a lowering, which JAX keeps alive, and whose calls are in the parameters of a trace."""
    calls = [equation.params for equation in equations_in(params) if equation.primitive.name == _PRIMITIVE]
    kept = (each for each in lowering.compile_args["keepalive"] or () if hasattr(each, "infer_sharding_from_operands"))
    return {str(id(each)): _CustomPartition(each, calls) for each in kept}


def equations_in(params: Mapping[str, object]) -> Iterator[JaxprEqn]:
    """Yield the equations in the parameters of a primitive or of a traced call, with those of nested functions."""
    for leaf in cast(list[object], jax.tree.leaves(dict(params))):
        if isinstance(leaf, ClosedJaxpr | Jaxpr):
            for equation in leaf.eqns:
                yield equation
                yield from equations_in(equation.params)


@dataclass(frozen=True, slots=True)
class _CustomPartition:
    """One call. `info` is what JAX stores about it, `calls` are the parameters of all calls of the program."""

    info: Any
    calls: Sequence[Mapping[str, Any]]

    def __call__(self, *arrays: Array, results: Sequence[tuple[tuple[int, ...], DType]]) -> Sequence[Array]:
        """Return the results for global arrays by the function itself, for shards by its partition function."""
        kinds = [(each.shape, each.dtype) for each in arrays]
        for call in self.calls:
            own = [(each.shape, each.dtype) for each in call["call"].in_avals]
            if call["partition"] is self.info.partition and own == kinds:
                return tuple(map(np.asarray, cast(list[Array], jaxpr_as_fun(call["call"])(*arrays))))
        return tuple(map(np.asarray, cast(list[Array], jax.tree.leaves(self._on_shards(arrays, results)))))

    def _on_shards(self, arrays: Sequence[Array], results: Sequence[tuple[tuple[int, ...], DType]]) -> object:
        info = self.info
        whole = NamedSharding(info.mesh, PartitionSpec())
        kinds = [(each.shape, each.dtype) for each in arrays]
        operands, expected = (
            [jax.ShapeDtypeStruct(*kind, sharding=whole) for kind in each] for each in (kinds, results)
        )
        trees = info.in_tree.unflatten(operands), info.out_tree.unflatten(expected)
        _, function, _, _ = info.partition(*info.static_args, info.mesh, *trees)
        return cast(object, jax.jit(function)(*info.in_tree.unflatten(arrays)))
