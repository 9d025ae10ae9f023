"""Axes of a mesh are split where collectives move parts of them, and nowhere else."""

from __future__ import annotations

import numpy as np

from sdy.evidence.sizes.devices import Rows, axis_digits


def groups(sizes: tuple[int, ...], *axes: int) -> Rows:
    """Return groups of devices that differ along these digits, of a device number with digits of these sizes."""
    ids = np.moveaxis(np.arange(np.prod(sizes)).reshape(sizes), axes, range(-len(axes), 0))
    return tuple(map(tuple, ids.reshape(-1, int(np.prod([sizes[axis] for axis in axes]))).tolist()))


def transfer(sizes: tuple[int, ...], *order: int) -> Rows:
    """Return pairs by which each device sends to the one with its digits in another order."""
    ids = np.arange(np.prod(sizes)).reshape(sizes)
    return tuple(zip(ids.reshape(-1).tolist(), ids.transpose(order).reshape(-1).tolist(), strict=True))


def test_groups_of_full_axes_split_nothing() -> None:
    assert axis_digits((16, 8), [groups((16, 8), 0), groups((16, 8), 1), groups((16, 8), 1, 0)], []) == ((16,), (8,))
    assert axis_digits((4, 1, 2), [], []) == ((4,), (), (2,))


def test_groups_of_a_part_split_the_axis() -> None:
    assert axis_digits((16, 8), [groups((2, 8, 8), 1)], []) == ((2, 8), (8,))
    assert axis_digits((16, 8), [groups((2, 8, 4, 2), 0, 3)], []) == ((2, 8), (4, 2))


def test_a_transfer_that_exchanges_parts_splits_both() -> None:
    assert axis_digits((16, 8), [], [transfer((2, 8, 8), 0, 2, 1)]) == ((2, 8), (8,))
    assert axis_digits((4, 4), [], [transfer((4, 4), 1, 0)]) == ((4,), (4,))


def test_a_transfer_that_reorders_no_digits_splits_nothing() -> None:
    shifted = tuple((device, (device + 1) % 16) for device in range(16))
    assert axis_digits((4, 4), [], [shifted]) == ((4,), (4,))
