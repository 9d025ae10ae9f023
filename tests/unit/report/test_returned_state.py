"""The results of a training step that are the next values of its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, f32

from sdy.report.boundary import BoundaryValue, returned_state


def values(*names: str, sizes: Sequence[int] = ()) -> list[BoundaryValue]:
    """Return arguments and results with these names, vectors of different sizes, or of `sizes`."""
    sizes = sizes or range(1, len(names) + 1)
    types = [TensorType(f32, [size]) for size in sizes]
    return [BoundaryValue(name, name, each, None) for name, each in zip(names, types, strict=True)]


STEP = ("params['a']", "params['b']", "state.mu['a']", "state.mu['b']", "x")
RETURNED = ("result[0]['a']", "result[0]['b']", "result[1].mu['a']", "result[1].mu['b']", "result[2]")


def test_trees_with_the_same_paths_and_types_are_the_next_values() -> None:
    found = values(*STEP, *RETURNED, sizes=[4, 8, 4, 8, 3, 4, 8, 4, 8, 1])
    assert returned_state(found, len(STEP)) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_a_tree_of_other_types_is_no_next_value() -> None:
    found = values(*STEP, *RETURNED, sizes=[4, 8, 4, 8, 3, 4, 9, 4, 8, 1])
    assert returned_state(found, len(STEP)) == {2: 2, 3: 3}


def test_one_tree_may_be_all_results() -> None:
    found = values("state.a", "state.b", "x", "result.a", "result.b", sizes=[4, 8, 3, 4, 8])
    assert returned_state(found, 3) == {0: 0, 1: 1}


def test_arguments_of_one_leaf_and_without_names_are_not_compared() -> None:
    assert returned_state(values("w", "x", "result[0]", sizes=[4, 4, 4]), 2) == {}
    unnamed = [BoundaryValue("%arg0", "", TensorType(f32, [4]), None)] * 2
    assert returned_state(unnamed, 1) == {}
