"""Conversion of the steps at one op to propagation edges, which record where each axis came from and when.

Source: docs/spec/02, 9.4 and 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sdy.model.axis import AxisRef, order_key
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationEdges, PropagationStep
from sdy.propagation.trace import AxisMove

NumberedMoves = tuple[int, Sequence[AxisMove]]  # the number of a step, and the axes moved in it


def propagation_edges(steps: Iterable[NumberedMoves], operand_count: int) -> PropagationEdges:
    """Return the edges of an op with `operand_count` operands. An axis that moves again is recorded at its first step.

    >>> from sdy.model.rule import FactorIndex
    >>> moves = [AxisMove(AxisRef("x"), FactorIndex(0), 0, target) for target in (2, 1)]
    >>> [[str(target) for target in flow.targets] for flow in propagation_edges([(4, moves)], 2)[0].flows]
    [['operand-1', 'result-0']]
    """
    first: dict[tuple[AxisRef, int, int], int] = {}
    for number, moves in steps:
        for move in moves:
            key = (move.axis, move.source, move.target)
            first[key] = min(number, first.get(key, number))
    flows: dict[int, dict[tuple[AxisRef, int], list[int]]] = {}
    for (axis, source, target), number in first.items():
        flows.setdefault(number, {}).setdefault((axis, source), []).append(target)
    return tuple(PropagationStep(number, _flows(flows[number], operand_count)) for number in sorted(flows))


def _flows(targets: Mapping[tuple[AxisRef, int], list[int]], operand_count: int) -> tuple[AxisFlow, ...]:
    """Return the flows of one step, in the order of the axes."""
    return tuple(
        AxisFlow(
            axis,
            _node(source, operand_count),
            tuple(_node(target, operand_count) for target in sorted(targets[axis, source])),
        )
        for axis, source in sorted(targets, key=lambda key: (order_key(key[0]), key[1]))
    )


def _node(tensor: int, operand_count: int) -> EdgeNode:
    if tensor < operand_count:
        return EdgeNode(EdgeNodeKind.OPERAND, tensor)
    return EdgeNode(EdgeNodeKind.RESULT, tensor - operand_count)
