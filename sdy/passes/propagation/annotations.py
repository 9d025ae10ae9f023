"""Sharding origins of the user's annotations: the name of each, and the axes that it gives to each value.

    before  %0 = sdy.sharding_constraint %arg0 <@m, [{"x"}]>
    after   %0 = sdy.sharding_constraint %arg0 <@m, [{"x"}]> {sdy.sharding_origin_name = "constraint_0"}

Source: docs/spec/02, 9.3.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.dialects.data_flow import argument_owners, result_owners, sources_of
from sdy.dialects.ir.walk import post_order
from sdy.dialects.sdy.attrs import ORIGIN_NAME
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of, storing_value
from sdy.model.axis import AxisRef, contains
from sdy.model.sharding import TensorSharding
from sdy.propagation.trace import AxisMove

K = TypeVar("K", bound=Hashable)


def annotation_origins(module: ModuleOp) -> Origins[SSAValue]:
    """Return the origins of a module's annotations, by the value that stores the sharding.

    Also name the constraints and manual computations of the module. If two annotate one value, the first one counts.
    """
    origins: Origins[SSAValue] = Origins()
    ops = post_order(module)
    for number, op in enumerate(op for op in ops if isinstance(op, ShardingConstraintOp)):
        _record_constraint(origins, op, f"constraint_{number}")
    for number, op in enumerate(op for op in ops if isinstance(op, ManualComputationOp)):
        _record_manual_computation(origins, op, f"mc_{number}")
    for func in module.ops:
        if isinstance(func, FuncOp):
            _record_function(origins, func)
    return origins


def _record_constraint(origins: Origins[SSAValue], op: ShardingConstraintOp, name: str) -> None:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    _annotate(origins, op.result, op.sharding.data, name)
    _annotate(origins, op.input, sharding_of(op.input), name)


def _record_manual_computation(origins: Origins[SSAValue], op: ManualComputationOp, name: str) -> None:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    for index, argument in enumerate(argument_owners(op)):
        origin = f"{name}_input: {index}"
        _annotate(origins, argument, op.in_shardings.data[index], origin)
        for source in sources_of(argument):
            _annotate(origins, source.value, sharding_of(source.value), origin)
    for index, result in enumerate(result_owners(op)):
        _annotate(origins, result, op.out_shardings.data[index], f"{name}_output: {index}")


def _record_function(origins: Origins[SSAValue], func: FuncOp) -> None:
    """Record the annotations of arguments; an annotation of a result counts for the returned value."""
    if not func.body.blocks:
        return
    for index, argument in enumerate(func.args):
        _annotate(origins, argument, argument_sharding(func, index), f"input: {index}")
    terminator = func.body.block.last_op
    for index, returned in enumerate(() if terminator is None else terminator.operands):
        _annotate(origins, returned, function_result_sharding(func, index), f"output: {index}")


def _annotate(origins: Origins[SSAValue], value: SSAValue, sharding: TensorSharding | None, origin: str) -> None:
    held_by = storing_value(value)
    if held_by is not None and sharding is not None:
        origins.annotate(held_by, sharding, origin)


class Origins(Generic[K]):
    """The origin of every axis, by value and axis. `K` is the type of values.

    Annotations are recorded first; then every step passes on the origins of the axes that it moves. The first origin
    recorded for an axis stays. Source: docs/spec/02, 9.3 and 9.5.
    """

    def __init__(self) -> None:
        self._origins: dict[K, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[tuple[K, Mapping[AxisRef, str]]]:
        """Yield the values that have an origin for some axis, with these origins."""
        yield from self._origins.items()

    def annotate(self, value: K, sharding: TensorSharding, origin: str) -> None:
        """Record `origin` for the axes in the dims of `sharding` that have no origin at `value` yet."""
        for dim in sharding.dims:
            for axis in dim.axes:
                self._record(value, axis, origin)

    def follow(self, moves: Iterable[AxisMove], values: Sequence[K | None]) -> None:
        """Pass on the origins of the axes that moved between `values`, the tensors of an op.

        An axis without an origin comes from a sharding that is not an annotation, and is skipped.
        """
        for move in moves:
            source, target = values[move.source], values[move.target]
            origin = None if source is None else self._lookup(source, move.axis)
            if origin is not None and target is not None:
                self._record(target, move.axis, origin)

    def _record(self, value: K, axis: AxisRef, origin: str) -> None:
        self._origins.setdefault(value, {}).setdefault(axis, origin)

    def _lookup(self, value: K, axis: AxisRef) -> str | None:
        """Return the origin of the axis, or of the first recorded axis that contains it or is contained in it."""
        known = self._origins.get(value, {})
        if axis in known:
            return known[axis]
        return next((known[each] for each in known if contains(each, axis) or contains(axis, each)), None)
