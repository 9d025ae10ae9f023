"""Classes of dims that must have one size, because ops map elements along them one to one.

%1 = slice %0 [1:64]    %2 = tanh %1    %3 = dot %2, %w        dim 0 of %1, %2 and %3, but not of %0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.model.rule import OpShardingRule
from sdy.partitioner.on_shards.shard_rules import shard_rule
from sdy.passes.export.optimize.communication_edges import ValueEdge

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
