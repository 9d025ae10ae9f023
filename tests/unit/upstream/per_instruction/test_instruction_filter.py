"""Parse instruction filters and select instructions."""

from __future__ import annotations

import pytest

from sdy.upstream.per_instruction.per_instruction_partitioning import InstructionFilter, parse_filter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", InstructionFilter()),
        (" '' ", InstructionFilter()),
        ("'dot, add'", InstructionFilter(names=("dot", "add"))),
        ('"selectHigh=7,selectLow= 2 "', InstructionFilter(low=2, high=7)),
        ("selectLow=many, selectHigh=-1", InstructionFilter()),
        ("selectlow=3", InstructionFilter(names=("selectlow=3",))),
    ],
)
def test_filter_is_parsed(text: str, expected: InstructionFilter) -> None:
    assert parse_filter(text) == expected


def test_an_instruction_must_be_in_range_and_have_the_name() -> None:
    chosen = parse_filter("dot, selectLow=1, selectHigh=2")
    selected = [number for number in range(4) if chosen.selects(number, "stablehlo.dot_general")]
    assert selected == [1, 2]
    assert not chosen.selects(1, "stablehlo.add")
