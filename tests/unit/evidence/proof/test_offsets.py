"""Tests of offsets: what is computed once for all devices equals what each device computes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdy.evidence.proof.offsets import (
    Offset,
    Offsets,
    at,
    clamped,
    divided,
    elements_outside,
    is_inside,
    of_devices,
    offset,
    plus,
    spread,
)

DEVICES = 4
VALUES = st.lists(st.integers(-6, 12), min_size=DEVICES, max_size=DEVICES).map(tuple)


def listed(table: Offset) -> list[int]:
    return [at(table, device) for device in range(DEVICES)]


@given(VALUES, VALUES, st.integers(-3, 3))
def test_offsets_are_added_device_by_device(one: tuple[int, ...], other: tuple[int, ...], factor: int) -> None:
    total = plus(offset(one), offset(other), factor)
    assert listed(total) == [a + factor * b for a, b in zip(one, other, strict=True)]
    assert isinstance(total, int) == (len(set(listed(total))) == 1)


@given(VALUES, st.integers(0, 8), st.integers(1, 5))
def test_offsets_are_clamped_and_divided_device_by_device(values: tuple[int, ...], last: int, divisor: int) -> None:
    table = offset(values)
    assert listed(clamped(table, last)) == [min(max(each, 0), last) for each in values]
    quotient, rest = divided(table, divisor)
    assert list(zip(listed(quotient), listed(rest), strict=True)) == [divmod(each, divisor) for each in values]


@given(VALUES, st.permutations(range(DEVICES)))
def test_a_device_takes_the_offset_of_another_one(values: tuple[int, ...], devices: list[int]) -> None:
    assert listed(of_devices(offset(values), tuple(devices))) == [values[device] for device in devices]


@given(VALUES, st.integers(1, 6), st.integers(1, 9))
def test_a_window_is_inside_if_no_element_is_outside(values: tuple[int, ...], extent: int, size: int) -> None:
    outside = {each: sum(not 0 <= each + step < size for step in range(extent)) for each in values}
    assert set(spread(offset(values))) == set(values)
    assert elements_outside(offset(values), extent, size) == sum(outside.values())
    assert is_inside(offset(values), extent, size) == (not any(outside.values()))


def test_equal_offsets_have_equal_hashes() -> None:
    one, other = Offsets((0, 4, 0, 4)), Offsets((0, 4, 0, 4))
    assert one == other
    assert hash(one) == hash(other)
    assert one.bounds == (0, 4)
