"""The rules into which a plan is folded give each leaf of the same tree exactly its sharding."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from hypothesis import assume, given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

import sdy
from sdy.model.path_rules import path_rules, tree_path

TREE_UTIL: Any = jax.tree_util


class State(NamedTuple):
    """The state of an optimizer."""

    count: Any
    mu: Any


KEYS = st.sampled_from(
    ["up", "up.scale", "down", "w1", "layer_0", "layer_1", "10", "it's", 'a"b', "x[0]", "*", "a?", "~/mlp", "é\n"]
)
LEAVES = st.integers(0, 2).map(lambda rank: jax.ShapeDtypeStruct((8,) * rank, jnp.float32))
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4) | st.builds(State, LEAVES, inner)
    ),
    max_leaves=24,
)
SPECS = {
    1: ["P()", "P('data')", "P('model')", "None"],
    2: ["P()", "P('data')", "P('data', 'model')", "P(None, ('data', 'model'))", "None"],
}


def expected_spec(text: str) -> P | None:
    return eval(text, {"P": P})


@given(TREES, st.data())
def test_rules_give_each_leaf_its_sharding(tree: object, data: st.DataObject) -> None:
    named = {"params": tree}
    leaves, structure = TREE_UTIL.tree_flatten_with_path(named)
    names = [f"params{TREE_UTIL.keystr(path[1:])}" for path, _ in leaves]
    paths = [tree_path(name) for name in names]
    assert paths == [TREE_UTIL.keystr(path, simple=True, separator=".") for path, _ in leaves]
    assume(len({path.replace("/", ".") for path in paths}) == len(paths))
    chosen = [data.draw(st.sampled_from(SPECS[len(leaf.shape)])) if leaf.shape else "P()" for _, leaf in leaves]
    specs = {path: spec for path, spec, (_, leaf) in zip(paths, chosen, leaves, strict=True) if leaf.shape}
    found = sdy.shardings(named, path_rules(specs))
    assert found == structure.unflatten([expected_spec(spec) for spec in chosen])


@given(TREES, st.sampled_from(SPECS[1]))
def test_one_rule_is_enough_for_trees_that_are_sharded_alike(tree: object, spec: str) -> None:
    flat = TREE_UTIL.tree_leaves_with_path({"params": tree, "state": State(None, tree)})
    paths = [TREE_UTIL.keystr(path, simple=True, separator=".") for path, leaf in flat if leaf.shape]
    assert path_rules(dict.fromkeys(paths, spec)) == ({"*": spec} if paths else {})
