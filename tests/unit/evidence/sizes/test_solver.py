"""Small sizes that satisfy equations: products, sums, kept sizes, and numbers of devices that change."""

from __future__ import annotations

import pytest

from sdy.evidence.sizes.index_values import are_aligned, mapped, needed_size, of_shards
from sdy.evidence.sizes.ops.shape import reshape_groups
from sdy.evidence.sizes.size_classes import NoSizesError, SizeClasses
from sdy.evidence.sizes.solver import Solver


def test_products_hold_and_sizes_are_small() -> None:
    classes = SizeClasses()
    merged, heads, head = classes.new(4096), classes.new(32), classes.new(128)
    classes.tie_product((merged,), (heads, head))
    sizes = Solver(classes).solve()
    assert sizes[merged] == sizes[heads] * sizes[head]
    assert (sizes[heads], sizes[head]) == (2, 2)


def test_sizes_of_one_tensor_that_differ_still_differ() -> None:
    classes = SizeClasses()
    rows, columns, others = classes.new(64), classes.new(128), classes.new(64)
    classes.shapes.append((rows, columns, others))
    sizes = Solver(classes).solve()
    assert sizes[rows] == sizes[others] == 2
    assert sizes[columns] == 3


def test_a_dim_does_not_become_as_large_as_a_kept_one_that_differed() -> None:
    """A program and a local one that no line ties have such sizes: 4 of 16 elements on each device."""
    classes = SizeClasses()
    whole, shard = classes.new(16), classes.new(4)
    classes.shapes += [(whole,), (shard,)]
    classes.lock(shard, "only one of the programs has this size")
    classes.raise_least(whole, 4)
    sizes = Solver(classes).solve()
    assert (sizes[whole], sizes[shard]) == (5, 4)


def test_a_sum_with_a_constant_keeps_the_constant() -> None:
    classes = SizeClasses()
    whole, shifted = classes.new(4096), classes.new(4095)
    classes.tie_sum(((1, whole), (-1, shifted)), 1)
    sizes = Solver(classes).solve()
    assert (sizes[whole], sizes[shifted]) == (3, 2)


def test_a_kept_size_keeps_its_multiples() -> None:
    classes = SizeClasses()
    shard, whole = classes.new(6), classes.new(48)
    classes.tie_product((classes.constant(8), shard), (whole,))
    classes.lock(shard, "a window moves along it")
    sizes = Solver(classes).solve()
    assert (sizes[shard], sizes[whole]) == (6, 48)
    assert classes.lock_reason(shard) == "a window moves along it"


def test_fewer_devices_make_fewer_shards() -> None:
    classes = SizeClasses()
    shard, whole = classes.new(512), classes.new(4096)
    classes.tie_product((classes.constant(8, 2), shard), (whole,))
    sizes = Solver(classes).solve()
    assert (sizes[shard], sizes[whole]) == (2, 4)


def test_kept_sizes_may_contradict_fewer_devices() -> None:
    classes = SizeClasses()
    shard, whole = classes.new(512), classes.new(4096)
    classes.tie_product((classes.constant(8, 2), shard), (whole,))
    classes.lock(whole, "kept")
    with pytest.raises(NoSizesError):
        Solver(classes).solve()


def test_only_equal_sizes_can_be_tied() -> None:
    classes = SizeClasses()
    with pytest.raises(ValueError, match="expected equal sizes, got 4 and 6"):
        classes.tie(classes.new(4), classes.new(6))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, 0),
        (1, 1),
        (-1, -1),
        (512, 4),
        (513, 5),
        (511, 3),
        (1024, 8),
        (4096, 32),
        (4095, 31),
        (256, 2),
        (10**9, 10**9),
    ],
)
def test_positions_follow_the_sizes(number: int, expected: int) -> None:
    assert mapped(number, ((512, 4), (4096, 32)), 8) == expected


def test_a_position_far_from_the_ends_of_shards_has_no_counterpart() -> None:
    assert mapped(100, ((512, 4),), 8) is None
    assert needed_size(100, 512) is None
    assert needed_size(3, 512) == 8


def test_a_position_that_two_sizes_contradict_has_no_counterpart() -> None:
    assert mapped(9, ((9, 3), (9, 4)), 1) is None
    assert mapped(0, ((9, 3), (9, 4)), 1) == 0


def test_the_last_window_of_a_dim_stays_the_last_one() -> None:
    assert mapped(3 * 512, ((512, 4), (4 * 512, 16)), 1) == 12
    assert mapped(7, ((9, 3), (16, 6)), 2) == 3


def test_a_position_that_is_near_a_shard_and_that_of_the_last_window_has_no_counterpart() -> None:
    assert mapped(7, ((8, 3), (9, 3), (16, 6)), 2) is None


def test_a_small_position_may_be_where_the_last_window_starts() -> None:
    assert mapped(1, ((15, 2), (16, 8)), 2) is None
    assert mapped(1, ((15, 7), (16, 8)), 2) == 1


def test_starts_of_shards_are_multiples_of_one_size() -> None:
    assert of_shards((0, 6, 12), ((3, 2), (24, 24)), ((6, 6),)) == (((6, 6),), ((3, 2), (24, 24), (6, 6)))
    assert of_shards((0, 5, 10), ((3, 2), (24, 24)), ()) == (((3, 2), (24, 24)), ())


def test_windows_are_shards_if_they_start_at_multiples() -> None:
    assert are_aligned((0, 6, 12), (6, 18))
    assert not are_aligned((0, 7), (6, 18))


def test_a_reshape_that_regroups_dims_is_one_group() -> None:
    assert reshape_groups((4, 6), (8, 3)) == [([0, 1], [0, 1])]
    assert reshape_groups((1, 8), (2, 4, 1)) == [([1], [0, 1])]
    assert reshape_groups((0, 8), (8, 0)) is None


def test_a_number_of_devices_that_changes_is_not_a_size_that_is_kept() -> None:
    for is_locked_first in (True, False):
        classes = SizeClasses()
        window, devices = classes.new(6), classes.constant(6, 2)
        if is_locked_first:
            classes.lock(window, "a window moves along it")
            with pytest.raises(NoSizesError, match="6 would become 2, but a window moves along it"):
                classes.tie(window, devices)
        else:
            classes.tie(window, devices)
            with pytest.raises(NoSizesError, match="6 would become 2, but a window moves along it"):
                classes.lock(window, "a window moves along it")
