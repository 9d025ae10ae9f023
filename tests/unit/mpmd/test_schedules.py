"""The orders of fragments that Shardy's schedules give, and the rules about pairs that they come from."""

from __future__ import annotations

import pytest
from support.pipeline_programs import labelled_fragments

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.schedules.builtin import SCHEDULES, Before, TotalOrder, Unit, schedule_named

# For each schedule the units of each mesh in order: F forward, B backward, A what a transfer waits for, W the rest.
ORDERS = {
    "none": [" ".join(f"F{index} B{index}" for index in range(8))] * 4,
    "GPipe": ["F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7"] * 4,
    "1F1B": [
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
        "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ],
    "GPipeBut1F1BForLastMesh": [
        *["F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7"] * 3,
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ],
    "ZeroBubbleH1": [
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
        "F0 F1 F2 A0 F3 A1 W0 F4 A2 W1 F5 A3 W2 F6 A4 W3 F7 A5 W4 A6 W5 A7 W7 W6",
        "F0 F1 A0 F2 A1 F3 A2 W0 F4 A3 W1 F5 A4 W2 F6 A5 W3 F7 A6 W6 W4 A7 W7 W5",
        "F0 A0 F1 A1 F2 A2 F3 A3 W0 F4 A4 W1 F5 A5 W5 W2 F6 A6 W6 W3 F7 A7 W7 W4",
    ],
    "ZeroBubbleH2ZeroTxLatency": [
        "F0 F1 F2 F3 F4 F5 F6 B0 F7 B1 B2 B3 B4 B5 B6 B7",
        "F0 F1 F2 F3 F4 A0 F5 A1 F6 A2 F7 W0 A3 W1 A4 W2 A5 W3 A6 W6 W4 A7 W7 W5",
        "F0 F1 F2 A0 F3 A1 F4 A2 F5 A3 F6 A4 W4 F7 W0 A5 W5 W1 A6 W6 W2 A7 W7 W3",
        "F0 A0 F1 A1 F2 A2 W2 F3 A3 W3 F4 A4 W4 F5 A5 W5 F6 A6 W6 W0 F7 A7 W7 W1",
    ],
}
CIRCULAR_ORDERS = {
    "Circular": "F0.0 F0.1 F2.0 F2.1 F0.2 F0.3 F2.2 F2.3 B2.0 B2.1 B0.0 B0.1 B2.2 B2.3 B0.2 B0.3",
    "CircularWithReversedBackward": "F0.0 F0.1 F2.0 F2.1 F0.2 F0.3 F2.2 F2.3 B2.3 B2.2 B0.3 B0.2 B2.1 B2.0 B0.1 B0.0",
}


def predicate(name: str) -> Before:
    """Return one of Shardy's schedules."""
    found = schedule_named(name)
    assert not isinstance(found, TotalOrder)
    return found


def orders(text: str, schedule: str) -> dict[str, list[str]]:
    """Return the labels of the fragments of each mesh, in their order after the pass."""
    module = parse_module(text)
    sdy.run_passes(module, f"builtin.module(mpmd-pipeline-scheduler{{must-happen-before={schedule}}})")
    found: dict[str, list[str]] = {}
    for op in module.walk():
        if isinstance(op, FragmentOp):
            found.setdefault(op.mesh, []).append(str(op.attributes["label"]).strip('"'))
    return found


@pytest.mark.parametrize("schedule", ORDERS)
def test_order_on_each_of_four_meshes(schedule: str) -> None:
    text = labelled_fragments(4, 4, 8, splits=schedule.startswith("ZeroBubble"))
    found = orders(text, schedule)
    short = [" ".join(label[0] + label.split("_")[1] for label in found[f"m{mesh}"]) for mesh in range(4)]
    assert short == ORDERS[schedule]


@pytest.mark.parametrize("schedule", CIRCULAR_ORDERS)
def test_order_of_stages_that_share_a_mesh(schedule: str) -> None:
    found = orders(labelled_fragments(2, 4, 4, splits=False), schedule)
    assert [label.replace("_", ".") for label in found["m0"]] == CIRCULAR_ORDERS[schedule].split()


def test_parallel_pipelines_wrap_around() -> None:
    before = predicate("ParallelPipelinesWithWrapAround")
    units = [Unit("m2", 2, counter, is_backward=False) for counter in range(5)]
    remaining, order = list(units), []
    while remaining:
        first = next(
            unit for unit in remaining if all(other is unit or not before(other, unit, 5) for other in remaining)
        )
        order.append(first.counter)
        remaining.remove(first)
    assert order == [2, 1, 0, 4, 3]


def test_parallel_pipelines_need_numbers_and_forward_fragments() -> None:
    before = predicate("ParallelPipelinesWithWrapAround")
    forward = Unit("last", 0, 0, is_backward=False)
    for first, second in ((forward, forward), (forward._replace(mesh="m1"), Unit("m1", 0, 1, is_backward=True))):
        with pytest.raises(SdyError) as raised:
            before(first, second, 1)
        assert raised.value.diagnostics[0].code == "SDY-M010"


@pytest.mark.parametrize("latency", ["Zero", "Half", "Full"])
def test_more_forwards_run_first_when_transfers_take_longer(latency: str) -> None:
    before = predicate(f"ZeroBubbleH2{latency}TxLatency")
    gradient = Unit("m0", 0, 0, is_backward=True)
    first_forwards = [
        counter for counter in range(20) if before(Unit("m0", 0, counter, is_backward=False), gradient, 4)
    ]
    assert len(first_forwards) == {"Zero": 7, "Half": 10, "Full": 13}[latency]


def test_schedules_are_found_in_any_case() -> None:
    assert schedule_named("builtin:gpipe") is schedule_named("GPipe") is SCHEDULES["GPipe"]


def test_an_unknown_schedule_names_a_similar_one() -> None:
    with pytest.raises(SdyError) as raised:
        schedule_named("GPip")
    found = raised.value.diagnostics[0]
    assert found.code == "SDY-M010"
    assert "GPipe" in str(found.hint)
