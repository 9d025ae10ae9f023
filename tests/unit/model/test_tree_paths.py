"""Paths of leaves of pytrees, by their names in JAX."""

from __future__ import annotations

import pytest

from sdy.model.path_rules import tree_path


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
