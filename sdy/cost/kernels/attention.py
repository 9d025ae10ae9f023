"""Attention, in any spelling: products whose scores are larger than what they are computed from, and are never stored.

    scores = q k^T ... mask, softmax ... out = weights v        forward: two products
    gradient of the scores ... gradients of q, k and v          backward: five products, scores among them

All tensors with as many elements as the scores that are computed from each other are one kernel if they are read by
elementwise ops, reductions and products alone, and an exponential is among them. A flash kernel keeps them in fast
memory, block by block, and skips the blocks that the mask leaves empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sdy.cost.allocation.fusion import is_fusible
from sdy.cost.kernels.mask import visible_share
from sdy.cost.kernels.value_flow import Step, ValueFlow, is_view
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotLikeOp
from sdy.dialects.stablehlo.elementwise import ExponentialOp, SelectOp
from sdy.dialects.stablehlo.reduction import ReduceOp

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
    for step in flow.steps:
        if isinstance(step.op, DotGeneralOp) and _computes_scores(flow, step) and step.results[0] not in seen:
            scores = _scores_with(flow, step.results[0], free)
            if scores is not None:
                seen |= scores
                kernel = _kernel(flow, frozenset(scores), free)
                if kernel is not None:
                    yield kernel


def _computes_scores(flow: ValueFlow, step: Step) -> bool:
    assert isinstance(step.op, DotGeneralOp)
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
    views = [
        flow.producers[view] for view, memory in flow.memory_of.items() if memory == value and view in flow.producers
    ]
    return [*flow.readers.get(flow.memory(value), ()), *views]


def _kernel(flow: ValueFlow, scores: frozenset[int], free: set[int]) -> AttentionKernel | None:
    entries = [flow.producers[value] for value in scores if isinstance(flow.producers[value].op, DotLikeOp)]
    readers = {reader for value in scores for reader in flow.readers.get(value, ())}
    exits = [reader for reader in readers if isinstance(reader.op, DotLikeOp)]
    steps = readers | {flow.producers[value] for value in scores}
    if not exits or not any(isinstance(step.op, ExponentialOp) for step in steps):
        return None
    direction = FORWARD if len(entries) == 1 else BACKWARD
    masks = [step for step in steps if isinstance(step.op, SelectOp)]
    share = min((visible_share(flow, step, scores) for step in masks), default=1.0)
    if direction == BACKWARD and len(entries) + len(exits) > 5:
        share *= PRODUCTS_OF_BOTH
    first = min(steps, key=lambda step: step.number)
    return AttentionKernel(frozenset(steps), scores, first, direction, share)
