"""Paths of leaves of pytrees, by their names in JAX."""

from __future__ import annotations

import pytest

from sdy.model.path_rules import path_rules, tree_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("params['up'][0]", "params.up.0"),
        ("opt.mu[<flat index 2>]", "opt.mu.2"),
        ("x['a b']", "x.a b"),
        ("[pmv].*.qkv", "[pmv].*.qkv"),  # a pattern
        ("params.[ab].w", "params.[ab].w"),
    ],
)
def test_the_path_of_a_name(name: str, path: str) -> None:
    assert tree_path(name) == path


def test_a_leaf_whose_path_begins_with_another_one_has_a_rule_before_it() -> None:
    specs = {"w": "P('x')", "w.scale": "P()", "b": "P()"}
    assert list(path_rules(specs).items()) == [("w.scale", "P()"), ("w", "P('x')"), ("*", "P()")]
    layers = {f"{number}.{path}": spec for number in range(3) for path, spec in specs.items()}
    assert list(path_rules(layers).items()) == [("*.scale", "P()"), ("*.w", "P('x')"), ("*", "P()")]
