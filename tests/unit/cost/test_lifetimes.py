"""Bytes alive while steps run, computed by hand. Values are letters, with sizes in SIZES."""

from __future__ import annotations

from sdy.cost.lifetimes import LifetimeStep, MemoryUse, memory_uses

SIZES = {"a": 1, "b": 10, "c": 100, "d": 1000}


def _of(arguments: str, *steps: LifetimeStep[str]) -> list[MemoryUse]:
    return memory_uses(arguments, steps, SIZES.__getitem__)


def test_a_value_dies_at_its_last_read() -> None:
    assert _of("a", LifetimeStep("a", "b"), LifetimeStep("ab", "c"), LifetimeStep("c", "")) == [
        MemoryUse(beside=1, around=11, most=11),
        MemoryUse(beside=11, around=111, most=111),
        MemoryUse(beside=100, around=100, most=100),
    ]


def test_an_unread_value_lives_while_it_is_produced() -> None:
    assert [moment.most for moment in _of("", LifetimeStep("", "b"), LifetimeStep("", "a"))] == [10, 1]


def test_an_unread_argument_is_always_alive() -> None:
    assert [moment.beside for moment in _of("ab", LifetimeStep("a", ""), LifetimeStep("", ""))] == [11, 10]


def test_region_inputs_are_counted_in_the_region() -> None:
    (call, _) = _of("bc", LifetimeStep("b", "a", inside=500, region_inputs="b"), LifetimeStep("c", ""))
    assert call == MemoryUse(beside=100, around=111, most=600)


def test_values_read_in_a_region_stay_beside_it() -> None:
    (branch, _) = _of("bc", LifetimeStep("b", "a", inside=500), LifetimeStep("c", ""))
    assert branch == MemoryUse(beside=110, around=111, most=610)


def test_region_inputs_that_are_read_later_are_counted_twice() -> None:
    (call, _) = _of("bc", LifetimeStep("b", "a", inside=500, region_inputs="b"), LifetimeStep("bc", ""))
    assert call.most == 610


def test_results_of_a_loop_reuse_the_memory_of_its_inputs() -> None:
    (loop, _) = _of("bc", LifetimeStep("b", "a", inside=20, region_inputs="b", overwritten="b"), LifetimeStep("c", ""))
    assert loop == MemoryUse(beside=100, around=101, most=120)


def test_a_value_read_twice_by_one_step_dies_once() -> None:
    assert _of("b", LifetimeStep("bb", "a"), LifetimeStep("a", ""))[1].most == 1
