"""Bytes alive while steps run, counted by hand. Values are letters; one has as many bytes as its place in SIZES."""

from __future__ import annotations

from sdy.cost.lifetimes import Moment, Step, moments

SIZES = {"a": 1, "b": 10, "c": 100, "d": 1000}


def _of(arguments: str, *steps: Step[str]) -> list[Moment]:
    return moments(arguments, steps, SIZES.__getitem__)


def test_a_value_dies_at_its_last_read() -> None:
    assert _of("a", Step("a", "b"), Step("ab", "c"), Step("c", "")) == [
        Moment(kept=1, around=11, most=11),
        Moment(kept=0, around=111, most=111),
        Moment(kept=0, around=100, most=100),
    ]


def test_what_nobody_reads_lives_while_it_is_made() -> None:
    assert [moment.most for moment in _of("", Step("", "b"), Step("", "a"))] == [10, 1]


def test_an_argument_that_nobody_reads_is_always_alive() -> None:
    assert [moment.kept for moment in _of("ab", Step("a", ""), Step("", ""))] == [10, 10]


def test_what_only_a_step_still_reads_is_part_of_its_inside() -> None:
    (loop, _) = _of("bc", Step("b", "a", inside=500), Step("c", ""))
    assert loop == Moment(kept=100, around=111, most=600)


def test_a_value_read_twice_at_once_dies_once() -> None:
    assert _of("b", Step("bb", "a"), Step("a", ""))[1].most == 1
