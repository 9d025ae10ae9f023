"""Results reuse the memory of operands only if no other reference can observe it."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.reuse import computed_in_place, selected_in_place

Slots = list[Array | None]


def _slots(*shapes: tuple[int, ...]) -> Slots:
    return [np.full(shape, number + 1.0) for number, shape in enumerate(shapes)]


def _address(slots: Slots, slot: int) -> int:
    array = slots[slot]
    assert array is not None
    return array.ctypes.data


@pytest.mark.parametrize(("dead", "slot"), [((0,), 0), ((1,), 1), ((0, 1), 0)])
def test_result_reuses_the_memory_of_a_dead_operand(dead: tuple[int, ...], slot: int) -> None:
    slots = _slots((2, 3), (2, 3))
    address = _address(slots, slot)
    result = computed_in_place(np.subtract, slots, (0, 1), dead)
    assert result is not None
    assert result.ctypes.data == address
    np.testing.assert_array_equal(result, np.full((2, 3), -1.0))


def test_only_view_of_an_array_is_reused() -> None:
    slots: Slots = [np.ones(6).reshape(2, 3), np.ones((2, 3))]
    assert computed_in_place(np.add, slots, (0, 1), (0,)) is not None


def test_array_with_other_references_is_not_reused() -> None:
    slots = _slots((2, 3), (2, 3))
    assert computed_in_place(np.add, slots, (0, 1), ()) is None  # both are used again
    seen = slots[0]
    assert computed_in_place(np.add, slots, (0, 1), (0,)) is None
    assert seen is not None
    del slots[0]
    slots.insert(0, seen[:])
    assert computed_in_place(np.add, slots, (0, 1), (0,)) is None  # a view of an array with another reference
    np.testing.assert_array_equal(seen, np.ones((2, 3)))


def test_array_with_a_view_is_not_reused() -> None:
    slots = _slots((2, 3), (2, 3))
    first = slots[0]
    assert first is not None
    view = first[0]
    del first
    assert computed_in_place(np.add, slots, (0, 1), (0,)) is None
    np.testing.assert_array_equal(view, np.ones(3))


@pytest.mark.parametrize(
    "slots",
    [
        [np.ones((2, 1)), np.ones((2, 3))],
        [np.ones(3, np.int32), np.ones(3, np.int32)],
        [np.broadcast_to(np.ones(1), (3,)), np.ones(3)],
    ],
    ids=["the result is larger", "integers", "read only"],
)
def test_array_that_cannot_hold_the_result_is_not_reused(slots: Slots) -> None:
    copies: Slots = [
        None if array is None else array.view() if not array.flags.writeable else array.copy() for array in slots
    ]
    assert computed_in_place(np.add, copies, (0, 1), (0,)) is None


def test_operand_used_twice_is_not_reused() -> None:
    assert computed_in_place(np.add, _slots((2,)), (0, 0), (0,)) is None


@pytest.mark.parametrize(("dead", "slot"), [((1,), 1), ((2,), 2), ((0, 1, 2), 1)])
def test_selection_reuses_the_memory_of_a_dead_value(dead: tuple[int, ...], slot: int) -> None:
    slots: Slots = [np.array([[True], [False]]), np.ones((2, 3)), np.zeros((2, 3))]
    address = _address(slots, slot)
    result = selected_in_place(slots, (0, 1, 2), dead)
    assert result is not None
    assert result.ctypes.data == address
    np.testing.assert_array_equal(result, [[1.0] * 3, [0.0] * 3])


def test_selection_that_is_larger_or_has_a_scalar_predicate_is_not_in_place() -> None:
    mask, values = np.array([True, False]), np.ones((3, 2))
    assert selected_in_place([mask, values.copy(), values.copy()], (0, 1, 2), (1,)) is None  # another rank
    assert selected_in_place([np.ones((3, 2), np.bool_), np.ones((1, 2)), np.ones((1, 2))], (0, 1, 2), (1, 2)) is None
    assert selected_in_place([mask, np.ones(2), np.zeros(2)], (0, 1, 2), ()) is None  # both are used again
