"""Checks of propagation edges."""

from __future__ import annotations

import pytest
from support.model.notation import edges, mesh, sharding

from sdy.model.axis import AxisRef
from sdy.model.checks.check_edges import check_edges_have_shardings, check_flows, check_propagation_edges, nodes_of
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationStep

OPERAND_0, RESULT_0, RESULT_1 = (
    EdgeNode(EdgeNodeKind.OPERAND, 0),
    EdgeNode(EdgeNodeKind.RESULT, 0),
    EdgeNode(EdgeNodeKind.RESULT, 1),
)
FLOW = AxisFlow(AxisRef("a"), OPERAND_0, (RESULT_0,))
MESH = mesh('<["a"=2]>')


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((PropagationStep(3, (FLOW,)), PropagationStep(0, (FLOW,))), None),
        ((), None),
        ((PropagationStep(-1, (FLOW,)),), "SDY-S301"),
        ((PropagationStep(1, (FLOW,)), PropagationStep(1, (FLOW,))), "SDY-S302"),
        ((PropagationStep(0, (AxisFlow(AxisRef("a"), RESULT_0, (OPERAND_0, RESULT_0)),)),), "SDY-S303"),
        ((PropagationStep(0, (AxisFlow(AxisRef("a"), OPERAND_0, (RESULT_0, RESULT_0)),)),), "SDY-S304"),
    ],
)
def test_edges_by_themselves(steps: tuple[PropagationStep, ...], expected: str | None) -> None:
    problem = check_propagation_edges(steps)
    assert (problem and problem.code) == expected


def test_nodes_come_source_first() -> None:
    text = '<[{step-0 = [{"a" = result-1 -> [operand-0, result-0]}]}, {step-1 = [{"a" = operand-0 -> [result-1]}]}]>'
    assert list(nodes_of(edges(text))) == [RESULT_1, OPERAND_0, RESULT_0, OPERAND_0, RESULT_1]


@pytest.mark.parametrize(
    ("text", "any_index", "expected"),
    [
        ('"a" = operand-0 -> [result-0]', False, None),
        ('"x" = operand-0 -> [result-0]', False, "SDY-S307"),
        ('"a" = operand-1 -> [result-0]', False, "SDY-S308"),
        ('"a" = operand-0 -> [result-1]', False, "SDY-S308"),
        ('"a" = operand--1 -> [result-0]', False, "SDY-S308"),
        ('"a" = operand-7 -> [result-7]', True, None),
    ],
)
def test_edges_at_an_op_of_one_operand_and_one_result(text: str, any_index: bool, expected: str | None) -> None:
    problem = check_flows(edges(f"<[{{step-0 = [{{{text}}}]}}]>"), MESH, 1, 1, any_index=any_index)
    assert (problem and problem.code) == expected


def test_the_values_have_shardings_on_one_mesh() -> None:
    problem = check_edges_have_shardings([])
    assert problem is not None
    assert problem.code == "SDY-S305"
    assert check_edges_have_shardings([sharding("[]")]) is None
    problem = check_flows((PropagationStep(0, (FLOW,)),), None, 1, 1, any_index=False)
    assert problem is not None
    assert problem.code == "SDY-S306"
