"""Groups of an all-to-all with a permutation before or behind it."""

from __future__ import annotations

import itertools

import pytest

from sdy.partitioner.combining.exchanges import DeviceIds, Exchange, permuted_after, permuted_before

PAIRS = ((0, 1), (2, 3))


def pairs(targets: DeviceIds) -> list[tuple[int, int]]:
    return list(enumerate(targets))


def test_two_groups_that_send_to_each_other() -> None:
    expected = Exchange(((0, 1, 2, 3),), 2, (1, 1, 0, 0))
    assert permuted_before(PAIRS, pairs((2, 3, 0, 1))) == expected
    assert permuted_after(PAIRS, pairs((2, 3, 0, 1))) == expected


def test_groups_that_keep_to_themselves_meet_where_others_must() -> None:
    groups = ((0, 2), (1, 3), (4, 6), (5, 7))
    found = permuted_before(groups, pairs((0, 4, 2, 6, 1, 5, 3, 7)))
    assert found == Exchange(((0, 2, 5, 7), (1, 3, 4, 6)), 2, (0, 1, 0, 1, 0, 1, 0, 1))


def test_nothing_moves_between_groups() -> None:
    assert permuted_before(PAIRS, pairs((0, 1, 2, 3))) == Exchange(PAIRS, 1, (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("groups", "targets"),
    [
        (PAIRS, (1, 0, 2, 3)),  # the members of a group in another order
        (PAIRS, (2, 1, 0, 3)),  # one member of a group alone
        (((0, 1), (2, 3), (4, 5)), (2, 3, 4, 5, 0, 1)),  # three groups in a ring
        (((0, 1), (2, 3), (4, 5)), (2, 3, 0, 1, 4, 5)),  # one that has nobody to meet
        (((0, 1),), (2, 3, 0, 1)),  # the others take part in no group
        (PAIRS, (2, 3, 0)),  # nobody sends to device 1
    ],
)
def test_what_no_exchange_does(groups: tuple[DeviceIds, ...], targets: DeviceIds) -> None:
    assert permuted_before(groups, pairs(targets)) is None
    assert permuted_after(groups, pairs(targets)) is None


@pytest.mark.parametrize("targets", list(itertools.permutations(range(4))))
def test_who_keeps_what(targets: DeviceIds) -> None:
    """Each device keeps what it gets one after the other, whenever there is an exchange."""
    source_of = {target: source for source, target in pairs(targets)}
    before, behind = permuted_before(PAIRS, pairs(targets)), permuted_after(PAIRS, pairs(targets))
    for receivers in PAIRS if before else ():
        for device in receivers:
            assert senders(before, device) == tuple(source_of[each] for each in receivers)
    for device in range(4) if behind else ():
        assert senders(behind, device) == next(group for group in PAIRS if source_of[device] in group)


def senders(exchange: Exchange | None, device: int) -> DeviceIds:
    """Those from which a device keeps what it gets, in order."""
    assert exchange is not None
    group = next(group for group in exchange.groups if device in group)
    size = len(group) // exchange.halves
    begin = exchange.kept[device] * size
    return group[begin : begin + size]
