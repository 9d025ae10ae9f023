"""Which dims of a module have to be of one size: along them, ops hand elements on from one value to the next.

%1 = slice %0 [1:64]    %2 = tanh %1    %3 = dot %2, %w        dim 0 of %1, %2 and %3; not that of %0
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
from sdy.passes.export.optimize.communication_edges import Edge

Place = tuple[SSAValue, int]  # a value, and one of its dims


class DimClasses:
    """The dims of all values in some functions, joined."""

    def __init__(self) -> None:
        self._parents: dict[Place, Place] = {}

    def of(self, place: Place) -> Place:
        """One dim that stands for all that are of one size with the given one."""
        root = place
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while place != root:
            self._parents[place], place = root, self._parents.get(place, root)
        return root

    def join(self, places: Iterable[Place]) -> None:
        """From now on, dims are of one size."""
        first, *others = places
        for other in others:
            root = self.of(other)
            if root != (target := self.of(first)):
                self._parents[root] = target


def dim_classes(functions: Mapping[str, FuncOp], edges: Iterable[Edge]) -> DimClasses:
    """The classes of the dims in some functions, whose values go through `edges` as well."""
    classes = DimClasses()
    for edge in edges:
        values = [*(source.value for source in edge.sources), *edge.targets]
        for dim in range(len(static_shape(edge.targets[0].type) or ())):
            classes.join((value, dim) for value in values)
    for func in functions.values():
        for op in pre_order(func, ManualComputationOp):
            for places in _alike(op):
                classes.join(places)
    return classes


def _alike(op: Operation) -> Iterator[list[Place]]:
    values = (*op.operands, *op.results)
    if isinstance(op, ReshardOp | PropagationBarrierOp):
        for dim in range(len(static_shape(op.result.type) or ())):
            yield [(value, dim) for value in values]
        return
    is_opaque = isinstance(op, CustomCallOp | ManualComputationOp) or op.has_trait(IsTerminator)
    rule = None if is_opaque else shard_rule(op)
    shapes = [static_shape(value.type) for value in values]
    if rule is not None and None not in shapes:
        yield from filter(None, _places_of_factors(rule, values, [shape or () for shape in shapes]))


def _places_of_factors(
    rule: OpShardingRule, values: Iterable[SSAValue], shapes: Iterable[tuple[int, ...]]
) -> list[list[Place]]:
    """By factor, the dims that are the whole of it."""
    places: list[list[Place]] = [[] for _ in rule.factor_sizes]
    for value, mapping, shape in zip(values, rule.tensors, shapes, strict=True):
        for dim, factors in enumerate(mapping):
            if len(factors) == 1 and rule.factor_sizes[factors[0]] == shape[dim]:
                places[factors[0]].append((value, dim))
    return places
