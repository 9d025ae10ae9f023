"""Pad dims inside the program that their axes do not divide, so that they stay sharded.

    before  %1 = stablehlo.slice %0 [1:64] : (tensor<64xf32>) -> tensor<63xf32>  [{"x"}]      "x"=4
    after   %1 = stablehlo.pad %0, %zero, low = [-1], high = [1], interior = [0] : ... -> tensor<64xf32>  [{"x"}]

All dims of one class get the same padding, at their end: dims that must have one size, because ops map elements along
them one to one. Arguments and results of the main function get none. The content of padding never affects results:
before an op that combines elements along the dim it is replaced by the identity element. A dim that would be padding
for the most part is not padded, and loses the axes that do not divide.

Requires: closed shardings, before reshards. Ensures: the leading part of every padded tensor is the original value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.model.rule import OpShardingRule
from sdy.model.shape import StaticShape
from sdy.partitioner.on_shards.shard_rules import shard_rule
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.partitioner.padding.before_reshards import pad_as_planned
from sdy.passes.export.optimize.communication_edges import ValueEdge, edges_of, functions_on_global_tensors
from sdy.passes.rewriting.op_order import forget_order

ValueDim = tuple[SSAValue, int]  # a value, and one of its dims


class DimClasses:
    """A union-find structure over the dims of all values in some functions."""

    def __init__(self) -> None:
        self._parents: dict[ValueDim, ValueDim] = {}

    def of(self, dim: ValueDim) -> ValueDim:
        """Return the representative of the class of `dim`."""
        root = dim
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while dim != root:
            self._parents[dim], dim = root, self._parents.get(dim, root)
        return root

    def join(self, dims: Iterable[ValueDim]) -> None:
        """Merge the classes of these dims."""
        first, *others = dims
        for other in others:
            root = self.of(other)
            if root != (target := self.of(first)):
                self._parents[root] = target


def dim_classes(functions: Mapping[str, FuncOp], edges: Iterable[ValueEdge]) -> DimClasses:
    """Return the classes of the dims in some functions; values of one edge belong together."""
    classes = DimClasses()
    for edge in edges:
        values = [*(source.value for source in edge.sources), *edge.targets]
        for dim in range(len(static_shape(edge.targets[0].type) or ())):
            classes.join((value, dim) for value in values)
    for func in functions.values():
        for op in pre_order(func, ManualComputationOp):
            for dims in _classes_of_op(op):
                classes.join(dims)
    return classes


def _classes_of_op(op: Operation) -> Iterator[list[ValueDim]]:
    values = (*op.operands, *op.results)
    if isinstance(op, ReshardOp | PropagationBarrierOp):
        for dim in range(len(static_shape(op.result.type) or ())):
            yield [(value, dim) for value in values]
        return
    is_opaque = isinstance(op, CustomCallOp | ManualComputationOp) or op.has_trait(IsTerminator)
    rule = None if is_opaque else shard_rule(op)
    shapes = [static_shape(value.type) for value in values]
    if rule is not None and None not in shapes:
        yield from filter(None, _dims_of_factors(rule, values, [shape or () for shape in shapes]))


def _dims_of_factors(
    rule: OpShardingRule, values: Iterable[SSAValue], shapes: Iterable[tuple[int, ...]]
) -> list[list[ValueDim]]:
    """Return for each factor the dims that consist of this factor only."""
    dims: list[list[ValueDim]] = [[] for _ in rule.factor_sizes]
    for value, mapping, shape in zip(values, rule.tensors, shapes, strict=True):
        for dim, factors in enumerate(mapping):
            if len(factors) == 1 and rule.factor_sizes[factors[0]] == shape[dim]:
                dims[factors[0]].append((value, dim))
    return dims


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
    shardings = ValueShardings(meshes_of(module))
    functions = functions_on_global_tensors(module)
    values = [value for func in functions.values() for value in _values_in(func)]
    counts = {dim: count for value in values for dim, count in _counts(value, shardings)}
    uneven = [dim for dim, count in counts.items() if _size(dim) % count]
    if not uneven or any(mesh.is_maximal for mesh in shardings.meshes.values()):
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


def _counts(value: SSAValue, shardings: ValueShardings) -> Iterable[tuple[ValueDim, int]]:
    """Yield the sharded dims of a value of static shape, each with its shard count."""
    if static_shape(value.type) is not None:
        for dim, count in enumerate(shardings.shard_counts(value)):
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
