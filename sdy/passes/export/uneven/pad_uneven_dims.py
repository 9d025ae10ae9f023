"""Pad dims inside of a program that do not divide by the axes that cut them, so that they stay cut.

    before  %1 = stablehlo.slice %0 [1:64] : (tensor<64xf32>) -> tensor<63xf32>  [{"x"}]      "x"=4
    after   %1 = stablehlo.pad %0, %zero, low = [-1], high = [1], interior = [0] : ... -> tensor<64xf32>  [{"x"}]

All values along which elements are handed on get the same padding, at the end of the dim; arguments and results of the
main function have none. What padding holds never shows: before an op that mixes elements along the dim it is replaced
by what does not change the result. A dim of which less than half would be elements stays as it is, and is cut
no further than it divides.

Requires: closed shardings, reshards still to come. Ensures: every tensor computes the same, at the front of its dims.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.model.axis_list import sharded_size
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.partitioner.padding.before_reshards import pad_as_planned
from sdy.passes.export.optimize.communication_edges import edges_of, functions_on_whole_tensors
from sdy.passes.export.uneven.dim_classes import Place, dim_classes
from sdy.passes.rewriting.op_order import forget_order

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class PadUnevenDimsPass(ModulePass):
    """Pad what does not divide, where that is most of what is computed with then."""

    name = "sdy-pad-uneven-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan the sizes of all values, then pad function by function."""
        plan = padding_plan(op)
        if plan is not None:
            pad_as_planned(op, plan.functions, plan.called, plan.sizes)
            forget_order(op)


@dataclass(frozen=True, slots=True)
class PaddingPlan:
    """The sizes that values are to have which are padded, and the functions that they are in.

    Those functions that are `called` take and give padded values.
    """

    sizes: dict[SSAValue, Sizes]
    functions: dict[str, FuncOp]
    called: frozenset[str]


def padding_plan(module: ModuleOp) -> PaddingPlan | None:
    """The plan of a module; None where there is nothing to pad."""
    meshes = meshes_of(module)
    functions = functions_on_whole_tensors(module)
    values = [value for func in functions.values() for value in _values_in(func)]
    counts = {place: count for value in values for place, count in _counts(value, meshes)}
    uneven = [place for place, count in counts.items() if _size(place) % count]
    if not uneven or any(mesh.is_maximal for mesh in meshes.values()):
        return None
    edges = list(edges_of(module, functions))
    classes = dim_classes(functions, edges)
    padded: dict[Place, int] = {classes.of(place): 1 for place in uneven}
    for place, count in counts.items():
        if (own := classes.of(place)) in padded:
            padded[own] = lcm(padded[own], count)
    planned: dict[SSAValue, Sizes] = {}
    for value in values:
        sizes = static_shape(value.type) or ()
        counts_of_dims = [padded.get(classes.of((value, dim)), 1) for dim in range(len(sizes))]
        wanted = tuple(map(_padded_size, sizes, counts_of_dims))
        if wanted != sizes:
            planned[value] = wanted
    called = frozenset(edge.result_of[0].sym_name.data for edge in edges if edge.result_of is not None)
    return PaddingPlan(planned, functions, called) if planned else None


def _values_in(func: FuncOp) -> Iterable[SSAValue]:
    yield from func.body.block.args
    for op in pre_order(func, ManualComputationOp):
        yield from op.results
        if not isinstance(op, ManualComputationOp | FuncOp):
            yield from (argument for region in op.regions for block in region.blocks for argument in block.args)


def _counts(value: SSAValue, meshes: MeshTable) -> Iterable[tuple[Place, int]]:
    """Into how many shards the dims of a value are cut that are cut."""
    sharding, sizes = sharding_of(value), static_shape(value.type)
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
    if sharding is not None and sizes is not None and mesh is not None:
        for dim, own in enumerate(sharding.dims):
            count = sharded_size(own.axes, mesh)
            if count > 1:
                yield (value, dim), count


def _size(place: Place) -> int:
    sizes = static_shape(place[0].type)
    assert sizes is not None  # that of a cut dim
    return sizes[place[1]]


def _padded_size(size: int, count: int) -> int:
    """The next multiple of `count`, if more than half of that are elements."""
    padded = -(-size // count) * count
    return padded if padded < 2 * size else size
