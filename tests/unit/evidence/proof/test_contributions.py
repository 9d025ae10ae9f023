"""Contributions to a value are compared by the devices that have them, not by how they came about."""

from __future__ import annotations

from sdy.evidence.proof.contributions import combined, contributions
from sdy.evidence.proof.offsets import Offsets
from sdy.evidence.proof.relations import View, partial_of
from sdy.evidence.proof.terms import TermTable


def test_contributions_that_a_group_has_combined_are_one() -> None:
    term = TermTable().make("argument", 0, (), (), "f32")
    by_two_axes = contributions("add", Offsets((0, 1, 2, 3)), 1, 4, 4, may_reach_over=False)
    by_one_axis = contributions("add", Offsets((0, 0, 2, 2)), 2, 4, 4, may_reach_over=False)
    assert by_two_axes != by_one_axis
    assert combined(View(term, (), (), None, by_two_axes), "add", ((0, 1), (2, 3))).partial == by_one_axis
    assert combined(View(term, (), (), None, by_two_axes), "add", ((0, 2), (1, 3))).partial != by_one_axis


def test_contributions_do_not_depend_on_their_numbers() -> None:
    assert partial_of("add", (0b01, 0b10), 0b11) == partial_of("add", (0b10, 0b01), 0b11)
    assert partial_of("add", (0b01, 0b11), 0b11) != partial_of("add", (0b11, 0b01), 0b11)


def test_a_contribution_that_no_device_has_stays_missing() -> None:
    lost = partial_of("add", (0b001, 0b010), 0b111)
    assert lost.masks == (0b001, 0b010)
    assert lost.whole == 0b111
