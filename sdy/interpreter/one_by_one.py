"""Collectives of several operands, run one operand at a time: each as soon as it is there.

    before  a = dot ..          after  a = dot ..
            b = dot ..                 c = all_reduce(a)
            c, d = all_reduce(a, b)    b = dot ..
                                       d = all_reduce(b)

On all devices at once a partial value takes as much memory as there are devices, and its sum takes little: it need not
wait for others. The results are the same, for a collective treats each operand by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sdy.dialects.stablehlo.collectives import AllGatherOp, AllReduceOp
from sdy.interpreter.compiled_block import Step

OPERAND_BY_OPERAND = (AllGatherOp, AllReduceOp)


def one_by_one(steps: Sequence[Step]) -> list[Step]:
    """The steps of a block in another order, with several for a collective of several operands."""
    behind: dict[int, int] = {}  # by slot: which step fills it, or is the last before the one that does
    ordered: list[tuple[int, Step]] = []
    for place, step in enumerate(steps):
        for part in _parts(step):
            there = place if part is step else behind.get(part.operands[0], -1)
            behind.update(dict.fromkeys(part.results, there))
            ordered.append((there, part))
    return [step for _, step in sorted(ordered, key=itemgetter(0))]  # a stable sort: a part comes behind what it needs


def _parts(step: Step) -> Iterator[Step]:
    # A computation that uses outer values has them as further operands.
    if isinstance(step.op, OPERAND_BY_OPERAND) and len(step.operands) == len(step.results) > 1:
        for operand, result in zip(step.operands, step.results, strict=True):
            yield replace(step, operands=(operand,), results=(result,))
    else:
        yield step
