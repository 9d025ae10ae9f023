"""Pad dims inside the program that their axes do not divide, so that they stay sharded.

    before  %1 = stablehlo.slice %0 [1:64] : (tensor<64xf32>) -> tensor<63xf32>  [{"x"}]      "x"=4
    after   %1 = stablehlo.pad %0, %zero, low = [-1], high = [1], interior = [0] : ... -> tensor<64xf32>  [{"x"}]

All dims of one class get the same padding, at their end; arguments and results of the main function get none. The
content of padding never affects results: before an op that combines elements along the dim it is replaced by the
identity element. A dim that would be padding for the most part is not padded, and loses the axes that do not divide.

Requires: closed shardings, before reshards. Ensures: the leading part of every padded tensor is the original value.
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
from sdy.model.shape import StaticShape
from sdy.partitioner.padding.before_reshards import pad_as_planned
from sdy.passes.export.optimize.communication_edges import edges_of, functions_on_global_tensors
from sdy.passes.export.uneven.dim_classes import ValueDim, dim_classes
from sdy.passes.rewriting.op_order import forget_order


class PadUnevenDimsPass(ModulePass):
    """Pad uneven dims, if more than half of the padded dim are elements."""

    name = "sdy-pad-uneven-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan the sizes of all values, then pad each function."""
        plan = padding_plan(op)
        if plan is not None:
            pad_as_planned(op, plan.functions, plan.called, plan.sizes)
            forget_order(op)


@dataclass(frozen=True, slots=True)
class PaddingPlan:
    """The target sizes of padded values, and the functions that contain them.

    The functions in `called` have padded arguments and results.
    """

    sizes: dict[SSAValue, StaticShape]
    functions: dict[str, FuncOp]
    called: frozenset[str]


def padding_plan(module: ModuleOp) -> PaddingPlan | None:
    """Return the plan for a module; None if no dim needs padding."""
    meshes = meshes_of(module)
    functions = functions_on_global_tensors(module)
    values = [value for func in functions.values() for value in _values_in(func)]
    counts = {dim: count for value in values for dim, count in _counts(value, meshes)}
    uneven = [dim for dim, count in counts.items() if _size(dim) % count]
    if not uneven or any(mesh.is_maximal for mesh in meshes.values()):
        return None
    edges = list(edges_of(module, functions))
    classes = dim_classes(functions, edges)
    padded: dict[ValueDim, int] = {classes.of(dim): 1 for dim in uneven}
    for dim, count in counts.items():
        if (own := classes.of(dim)) in padded:
            padded[own] = lcm(padded[own], count)
    planned: dict[SSAValue, StaticShape] = {}
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


def _counts(value: SSAValue, meshes: MeshTable) -> Iterable[tuple[ValueDim, int]]:
    """Yield the sharded dims of a value, each with its shard count."""
    sharding, sizes = sharding_of(value), static_shape(value.type)
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
    if sharding is not None and sizes is not None and mesh is not None:
        for dim, own in enumerate(sharding.dims):
            count = sharded_size(own.axes, mesh)
            if count > 1:
                yield (value, dim), count


def _size(dim: ValueDim) -> int:
    sizes = static_shape(dim[0].type)
    assert sizes is not None  # sharded dims have a static size
    return sizes[dim[1]]


def _padded_size(size: int, count: int) -> int:
    """Return the next multiple of `count`, if elements make up more than half of it; else `size`."""
    padded = -(-size // count) * count
    return padded if padded < 2 * size else size
