"""Split collectives of several operands, so that each operand is handled as soon as it is computed.

    before  a = dot ..          after  a = dot ..
            b = dot ..                 c = all_reduce(a)
            c, d = all_reduce(a, b)    b = dot ..
                                       d = all_reduce(b)

When all devices run at once, a partial value takes memory for every device and its sum takes memory for one; the split
frees the partial value early. The results are the same, since a collective treats each operand separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.interpreter.compiled_block import CompiledOp


def split_collectives(steps: Sequence[CompiledOp]) -> list[CompiledOp]:
    """Return the steps of a block reordered, with one step per operand of a collective of several operands."""
    ready_after: dict[int, int] = {}  # slot -> index of the original step after which it is filled
    ordered: list[tuple[int, CompiledOp]] = []
    for index, step in enumerate(steps):
        for part in _parts(step):
            after = index if part is step else ready_after.get(part.operands[0], -1)
            ready_after.update(dict.fromkeys(part.results, after))
            ordered.append((after, part))
    return [step for _, step in sorted(ordered, key=itemgetter(0))]  # stable: a step stays after its producers


def _parts(step: CompiledOp) -> Iterator[CompiledOp]:
    # A computation that captures values has them as further operands; such collectives stay as they are.
    if isinstance(step.op, CombinableOp) and len(step.operands) == len(step.results) > 1:
        for operand, result in zip(step.operands, step.results, strict=True):
            yield replace(step, operands=(operand,), results=(result,))
    else:
        yield step
