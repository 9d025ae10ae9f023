"""Algebraic laws of axis refs and of lists of axis refs."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.model.strategies import MESH, covering_sub_axes, disjoint_lists, refs_of_u

from sdy.model.axis import (
    AxisList,
    AxisRef,
    can_coexist,
    contains,
    greatest_common_prefix,
    intersection,
    is_prefix,
    overlaps,
    prefix_without,
)
from sdy.model.axis_list import (
    common_prefix,
    extended,
    is_strict_list_prefix,
    lists_overlap,
    set_difference,
    sharded_size,
    sort_and_merge,
    truncate_overlaps,
)
from sdy.model.axis_on_mesh import in_mesh_order, is_suffix, ordered_refs, replica_groups, suffix_without
from sdy.model.checks.check_mesh import AxisUse


@given(refs_of_u(), refs_of_u())
def test_relations_of_pairs_are_symmetric(a: AxisRef, b: AxisRef) -> None:
    assert overlaps(a, b) == overlaps(b, a)
    assert can_coexist(a, b) == can_coexist(b, a)
    assert intersection(a, b) == intersection(b, a)
    assert greatest_common_prefix(a, b) == greatest_common_prefix(b, a)


@given(refs_of_u(), refs_of_u())
def test_prefixes_and_suffixes_without_a_ref_do_not_overlap_it(a: AxisRef, b: AxisRef) -> None:
    prefix, suffix = prefix_without(a, b), suffix_without(a, b, MESH)
    assert prefix is None or (is_prefix(prefix, a) and not overlaps(prefix, b))
    assert suffix is None or (is_suffix(suffix, a, MESH) and not overlaps(suffix, b))


@given(refs_of_u(), refs_of_u())
def test_splitting_then_merging_is_the_identity(a: AxisRef, b: AxisRef) -> None:
    if overlaps(a, b) and can_coexist(a, b):
        parts = [
            part for part in (prefix_without(a, b), intersection(a, b), suffix_without(a, b, MESH)) if part is not None
        ]
        assert extended((), parts, MESH) == (a,)


@given(refs_of_u(), refs_of_u())
def test_a_common_prefix_is_a_prefix_of_both(a: AxisRef, b: AxisRef) -> None:
    common = greatest_common_prefix(a, b)
    assert (common is None) == (not (is_prefix(a, b) or is_prefix(b, a)) or not can_coexist(a, b))
    if common is not None:
        assert is_prefix(common, a)
        assert is_prefix(common, b)


@given(refs_of_u(), refs_of_u(), refs_of_u())
def test_containment_is_transitive(a: AxisRef, b: AxisRef, c: AxisRef) -> None:
    if contains(a, b) and contains(b, c):
        assert contains(a, c)


@given(covering_sub_axes())
def test_all_sub_axes_of_a_mesh_merge_to_its_axes(refs: AxisList) -> None:
    assert sort_and_merge(reversed(refs), MESH) == tuple(AxisRef(axis.name) for axis in MESH.axes)
    assert prod(MESH.size_of(ref) for ref in refs) == MESH.device_count


@given(disjoint_lists())
def test_the_canonical_form_is_sorted_valid_and_stable(refs: AxisList) -> None:
    canonical = sort_and_merge(refs, MESH)
    assert in_mesh_order(canonical, MESH) == canonical == sort_and_merge(canonical, MESH)
    assert sharded_size(canonical, MESH) == sharded_size(refs, MESH)
    use = AxisUse(MESH)
    assert not list(use.add_sorted(canonical))
    assert not list(use.check_sub_axes())


@given(disjoint_lists(), disjoint_lists())
def test_a_difference_does_not_overlap_the_subtracted_refs(a: AxisList, b: AxisList) -> None:
    left = set_difference(a, b, MESH)
    assert not lists_overlap(left, b)
    assert all(any(contains(ref, part) for ref in a) for part in left)


@given(covering_sub_axes(), st.integers(0, 7), st.integers(0, 7))
def test_a_difference_and_the_intersection_cover_the_list(refs: AxisList, first: int, last: int) -> None:
    a, b = refs, refs[first:last]
    left = set_difference(a, sort_and_merge(b, MESH), MESH)
    assert sharded_size(left, MESH) * sharded_size(b, MESH) == sharded_size(a, MESH)
    assert sort_and_merge((*left, *b), MESH) == sort_and_merge(a, MESH)


@given(disjoint_lists(), disjoint_lists())
def test_truncating_leaves_the_longest_disjoint_prefix(a: AxisList, b: AxisList) -> None:
    left = truncate_overlaps(a, b)
    assert not lists_overlap(left, b)
    assert left == a or is_strict_list_prefix(left, a)
    touches = any(overlaps(x, y) or not can_coexist(x, y) for x in a for y in b)
    assert (left == a) == (not touches)


@given(disjoint_lists(), disjoint_lists())
def test_the_common_prefix_of_lists_is_a_prefix_of_both(a: AxisList, b: AxisList) -> None:
    common = common_prefix(a, b)
    assert common == common_prefix(b, a)
    for refs in (a, b):
        assert common == refs or is_strict_list_prefix(common, refs)
    assert common_prefix(a, a) == a


@given(disjoint_lists(), disjoint_lists())
def test_a_strict_prefix_makes_fewer_shards(a: AxisList, b: AxisList) -> None:
    if is_strict_list_prefix(a, b):
        assert sharded_size(a, MESH) < sharded_size(b, MESH)
        assert not is_strict_list_prefix(b, a)


@given(disjoint_lists())
def test_replica_groups_are_a_transposed_view_of_the_devices(axes: AxisList) -> None:
    digits = ordered_refs(axes, MESH)
    grid = np.arange(MESH.device_count).reshape([MESH.size_of(digit) for digit in digits])
    others = [index for index, digit in enumerate(digits) if digit not in axes]
    grouped = grid.transpose([*others, *(digits.index(ref) for ref in axes)])
    assert np.array_equal(np.array(replica_groups(axes, MESH)), grouped.reshape(-1, sharded_size(axes, MESH)))
