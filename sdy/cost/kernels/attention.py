"""Attention, in any spelling: products whose scores are larger than what they are computed from, and are never stored.

    scores = q k^T ... mask, softmax ... out = weights v        forward: two products
    gradient of the scores ... gradients of q, k and v          backward: five products, scores among them

All tensors with as many elements as the scores that are computed from each other are one kernel if they are read by
elementwise ops, reductions and products alone, and an exponential is among them. A flash kernel keeps them in fast
memory, block by block, and skips the blocks that the mask leaves empty.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod

from xdsl.ir import Operation

from sdy.cost.allocation.fusion import is_fusible
from sdy.cost.kernels.value_flow import Step, ValueFlow, is_view
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import is_elementwise
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.collectives import PartitionIdOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotLikeOp
from sdy.dialects.stablehlo.elementwise import ExponentialOp, SelectOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, IotaOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp

BLOCK = 512  # rows and columns of a block of the scores: blocks that the mask empties are skipped
SAMPLES = 211  # points of the scores, spread evenly
DEVICES = 32  # of a mask that differs by device, spread evenly over any mesh by a large prime
PRIME = 7919
Index = tuple[int, ...]
Number = int | float | bool


class UnknownValueError(Exception):
    """A value depends on data."""


def visible_share(flow: ValueFlow, select: Step, scores: frozenset[int]) -> float:
    """Return the share of the blocks in which `select` keeps some scores; 1 if that depends on data.

    If it depends on the device, it is the largest share of a device, for which the others wait: shards of the sequence
    that lie one after the other make the last one compute almost twice the mean.
    """
    shape = static_shape(flow.types[select.results[0]])
    if not shape:
        return 1.0
    is_kept_if_true = select.operands[1] in scores

    def share_on(device: int) -> float:
        evaluator = _Evaluator(flow, device)
        seen = 0
        for number in range(SAMPLES):
            corners = product(*(_corners(at, size) for at, size in zip(_point(number, shape), shape, strict=True)))
            seen += any(bool(evaluator.element(select.operands[0], each)) is is_kept_if_true for each in corners)
        return max(seen, 1) / SAMPLES

    try:
        return max(map(share_on, _different_devices(flow, select.operands[0])))
    except UnknownValueError:
        return 1.0


def _different_devices(flow: ValueFlow, value: int) -> Iterable[int]:
    """Return one device of each kind: devices of a kind compute a value from equal scalars.

    Raises: UnknownValueError if a scalar depends on data.
    """
    pending, seen = [value], {value}
    scalars: list[int] = []
    while pending:
        step = flow.producers.get(each := pending.pop())
        if static_shape(flow.types[each]) == ():
            scalars.append(each)
        elif step is not None:
            pending.extend(operand for operand in step.operands if operand not in seen)
            seen.update(step.operands)
    kinds: dict[tuple[Number, ...], int] = {}
    for device in range(0, DEVICES * PRIME, PRIME):
        evaluator = _Evaluator(flow, device)
        kinds.setdefault(tuple(evaluator.element(scalar, ()) for scalar in scalars), device)
    return kinds.values()


def _point(number: int, shape: Sequence[int]) -> Index:
    """Return one of many points that are spread evenly over a shape."""
    return tuple(
        int(size * ((0.5 + number * step) % 1.0)) for size, step in zip(shape, _steps(len(shape)), strict=True)
    )


@cache
def _steps(count: int) -> list[float]:
    """Return steps that spread points evenly over `count` dims (Roberts's R sequence)."""
    root = 2.0
    for _ in range(32):
        root = (1 + root) ** (1 / (count + 1))
    return [root ** -(dim + 1) for dim in range(count)]


def _corners(position: int, size: int) -> Sequence[int]:
    if size < 2 * BLOCK:
        return (position,)
    start = position // BLOCK * BLOCK
    return start, min(start + BLOCK, size) - 1


_BINARY: Mapping[type[Operation], Callable[[Number, Number], Number]] = {
    ops.AddOp: operator.add,
    ops.SubtractOp: operator.sub,
    ops.MultiplyOp: operator.mul,
    ops.DivideOp: lambda a, b: int(a / b) if b else 0,
    ops.RemainderOp: lambda a, b: a - b * int(a / b) if b else 0,
    ops.AndOp: lambda a, b: int(a) & int(b),
    ops.OrOp: lambda a, b: int(a) | int(b),
    ops.MaximumOp: max,
    ops.MinimumOp: min,
}
_COMPARISONS: Mapping[ComparisonDirection, Callable[[Number, Number], bool]] = {
    each: getattr(operator, each.value.lower()) for each in ComparisonDirection
}


@dataclass(frozen=True)
class _Evaluator:
    """Computes elements of values that depend on positions and the number of the device alone."""

    flow: ValueFlow
    device: int
    _known: dict[tuple[int, Index], Number] = field(default_factory=dict[tuple[int, Index], Number])

    def element(self, value: int, index: Index) -> Number:
        """Return an element of a value. Raises: UnknownValueError if it depends on data."""
        key = value, index
        if key not in self._known:
            self._known[key] = self._computed(value, index)
        return self._known[key]

    def _computed(self, value: int, index: Index) -> Number:
        step = self.flow.producers.get(value)
        if step is None:
            raise UnknownValueError
        op = step.op
        if isinstance(op, ConstantOp | ShardedConstantOp):
            return constant_element(op, index)
        if isinstance(op, IotaOp):
            return index[op.iota_dimension.value.data]
        if isinstance(op, PartitionIdOp):
            return self.device
        if isinstance(op, ops.SelectOp):
            is_true = self.element(step.operands[0], index if static_shape(op.pred.type) else ())
            return self.element(step.operands[1 if is_true else 2], index)
        if not step.operands:
            raise UnknownValueError
        if is_elementwise(op):
            return computed_element(op, [self.element(operand, index) for operand in step.operands])
        return self.element(step.operands[0], self._index_read(step, index))

    def _index_read(self, step: Step, index: Index) -> Index:
        """Return the index of the element of the first operand that an op returns at an index."""
        op = step.op
        shape = static_shape(op.operands[0].type) or ()
        match op:
            case BroadcastInDimOp():
                dims = op.broadcast_dimensions.get_values()
                return tuple(index[dim] if size > 1 else 0 for dim, size in zip(dims, shape, strict=True))
            case TransposeOp():
                order = list(op.permutation.get_values())
                return tuple(index[order.index(dim)] for dim in range(len(order)))
            case ReshapeOp():
                number = _number_of(index, static_shape(op.result.type) or ())
                return tuple(number // prod(shape[dim + 1 :]) % size for dim, size in enumerate(shape))
            case DynamicSliceOp():
                starts = [int(self.element(step.operands[dim + 1], ())) % size for dim, size in enumerate(shape)]
                return tuple(at + start for at, start in zip(index, starts, strict=True))
            case _:
                raise UnknownValueError


def computed_element(op: Operation, values: Sequence[Number]) -> Number:
    """Return an element of the result of an elementwise op. Raises: UnknownValueError if that is not known."""
    match op:
        case ops.ConvertOp():
            return values[0]
        case ops.NotOp():
            return not values[0]
        case ops.CompareOp():
            return _COMPARISONS[op.comparison_direction.data](*values)
        case _ if type(op) in _BINARY:
            return _BINARY[type(op)](*values)
        case _:
            raise UnknownValueError


def constant_element(op: ConstantOp | ShardedConstantOp, index: Index) -> Number:
    """Return an element of a constant. Raises: UnknownValueError if it is not a number."""
    literal = op.value
    if not isinstance(literal, DenseElementsAttr):
        raise UnknownValueError
    values = literal.get_values()
    number = _number_of(index, static_shape(op.results[0].type) or ())
    value = values[0] if literal.is_splat else values[min(number, len(values) - 1)]
    if not isinstance(value, int | float):
        raise UnknownValueError
    return value


def _number_of(index: Index, shape: Sequence[int]) -> int:
    """Return the number of an element of a tensor, in the order of memory."""
    return sum(position * prod(shape[dim + 1 :]) for dim, position in enumerate(index))


FORWARD, BACKWARD = 1, 2
PRODUCTS_OF_BOTH = 7 / 6  # a kernel for each direction computes the scores; a program of both needs them once


@dataclass(frozen=True, slots=True)
class AttentionKernel:
    """The steps of a kernel, the values that it keeps in fast memory, and the share of the blocks that it computes."""

    steps: frozenset[Step]
    scores: frozenset[int]
    first: Step
    direction: int
    share: float


def attention_kernels(flow: ValueFlow, free: set[int]) -> Iterator[AttentionKernel]:
    """Yield the kernels of a program. `free` are the values that depend on no data, such as masks."""
    seen: set[int] = set()
    numbers = _expression_numbers(flow, free)
    known: dict[tuple[int, bool], float] = {}  # the shares of masks, which are equal in all layers of a model

    def share_of(select: Step, scores: frozenset[int]) -> float:
        if select.operands[0] not in numbers:
            return visible_share(flow, select, scores)
        key = numbers[select.operands[0]], select.operands[1] in scores
        if key not in known:
            known[key] = visible_share(flow, select, scores)
        return known[key]

    for step in flow.steps:
        if _computes_scores(flow, step) and step.results[0] not in seen:
            scores = _scores_with(flow, step.results[0], free)
            if scores is not None:
                seen |= scores
                kernel = _kernel(flow, frozenset(scores), share_of)
                if kernel is not None:
                    yield kernel


def _expression_numbers(flow: ValueFlow, free: set[int]) -> dict[int, int]:
    """Return a number for each value that depends on no data; values that are computed alike have the same one."""
    found: dict[int, int] = {}
    known: dict[object, int] = {}
    for step in flow.steps:
        if step.results and free.issuperset(step.results):
            operands = tuple(found.get(operand) for operand in step.operands)
            key = type(step.op), frozenset(step.op.properties.items()), flow.types[step.results[0]], operands
            found[step.results[0]] = known.setdefault(key, len(known))
    return found


def _computes_scores(flow: ValueFlow, step: Step) -> bool:
    if not isinstance(step.op, DotGeneralOp):
        return False
    has_batch = bool(step.op.dot_dimension_numbers.data.lhs_batching_dimensions)
    sizes = [flow.elements_of(value) for value in (*step.operands, *step.results)]
    return has_batch and sizes[2] > max(sizes[:2])


def _scores_with(flow: ValueFlow, start: int, free: set[int]) -> set[int] | None:
    """Return all values of the size of the scores that depend on each other; None if one of them is stored."""
    size, frame = flow.elements_of(start), flow.producers[start].frame
    found, pending = {start}, [start]
    while pending:
        value = pending.pop()
        producer = flow.producers.get(value)
        if producer is None or producer.frame != frame:
            return None
        near = [producer] if not isinstance(producer.op, DotLikeOp) else []
        near += [reader for reader in _readers(flow, value) if not isinstance(reader.op, DotLikeOp)]
        for step in near:
            is_inside = is_fusible(type(step.op)) or is_view(step.op) or isinstance(step.op, ReduceOp)
            if step.is_boundary or step.frame != frame or not is_inside:
                return None
            for other in (*step.operands, *step.results):
                if flow.elements_of(other) == size and other not in found and other not in free:
                    found.add(other)
                    pending.append(other)
    return found


def _readers(flow: ValueFlow, value: int) -> list[Step]:
    """Return the steps that read a value, with those that only change its shape."""
    return [*flow.readers.get(flow.memory(value), ()), *flow.views.get(value, ())]


def _kernel(
    flow: ValueFlow, scores: frozenset[int], share_of: Callable[[Step, frozenset[int]], float]
) -> AttentionKernel | None:
    entries = [flow.producers[value] for value in scores if isinstance(flow.producers[value].op, DotLikeOp)]
    readers = {reader for value in scores for reader in flow.readers.get(value, ())}
    exits = [reader for reader in readers if isinstance(reader.op, DotLikeOp)]
    steps = readers | {flow.producers[value] for value in scores}
    if not exits or not any(isinstance(step.op, ExponentialOp) for step in steps):
        return None
    direction = FORWARD if len(entries) == 1 else BACKWARD
    share = min((share_of(step, scores) for step in steps if isinstance(step.op, SelectOp)), default=1.0)
    if direction == BACKWARD and len(entries) + len(exits) > 5:
        share *= PRODUCTS_OF_BOTH
    first = min(steps, key=lambda step: step.number)
    return AttentionKernel(frozenset(steps), scores, first, direction, share)
