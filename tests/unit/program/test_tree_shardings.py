"""`sdy.shardings`: rules for the paths of the leaves of a pytree."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

import sdy

MESH = AbstractMesh((4, 2), ("data", "model"))


class State(NamedTuple):
    """The state of an optimizer."""

    steps: jax.ShapeDtypeStruct
    mu: object


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def placed(leaf: jax.ShapeDtypeStruct, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def doubled(state: Any) -> Any:
    return state.mu["layers"][0]["kernel"] * 2


TREE = {"layers": [{"kernel": shape(8, 8), "bias": shape(8)}, {"kernel": shape(8, 8), "bias": shape(8)}]}
STATE = State(shape(), TREE)


def test_the_first_rule_that_matches_a_path_or_its_first_keys_counts() -> None:
    rules = {"layers/0/bias": P("model"), "layers.1": P("data"), "*.kernel": P(None, "model")}
    found = sdy.shardings(TREE, rules)
    assert found == {
        "layers": [{"kernel": P(None, "model"), "bias": P("model")}, {"kernel": P("data"), "bias": P("data")}]
    }


def test_rules_shard_parameters_and_the_state_of_an_optimizer_on_a_mesh() -> None:
    found = sdy.shardings(STATE, {"*.kernel": P("data", "model"), "*": P()}, MESH)
    assert found.steps == NamedSharding(MESH, P())
    assert found.mu["layers"][1]["kernel"] == NamedSharding(MESH, P("data", "model"))
    program = sdy.from_jax(doubled, jax.tree.map(placed, STATE, found))
    assert '[{"data"}, {"model"}]' in program.report()


@pytest.mark.parametrize(
    ("rules", "messages"),
    [
        ({"*.kernel": P()}, ["no rule matches layers.0.bias, which has 1 dims", "no rule matches layers.1.bias"]),
        ({"*": P(), "layers.*.kernal": P()}, ["the rule 'layers.*.kernal' gives no leaf its sharding"]),
        ({"*.kernel": P(), "*.bias": P(), "layers.0": P()}, ["the rule 'layers.0' gives no leaf its sharding"]),
        (
            {"*": P(None, "data")},
            ["layers.0.bias has 1 dims, and the rule '*' shards 2", "layers.1.bias has 1 dims"],
        ),
    ],
)
def test_all_leaves_and_rules_that_are_left_over_are_reported(rules: dict[str, P], messages: list[str]) -> None:
    with pytest.raises(sdy.SdyError) as raised:
        sdy.shardings(TREE, rules)
    found = [each.message for each in raised.value.diagnostics]
    assert len(found) == len(messages)
    assert all(message.startswith(expected) for message, expected in zip(found, messages, strict=True))
    assert {each.code for each in raised.value.diagnostics} < {"SDY-T256", "SDY-T257", "SDY-T258"}


TREES = st.recursive(
    st.lists(st.integers(1, 4), max_size=3).map(lambda sizes: shape(*sizes)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
def test_a_rule_for_all_keeps_the_structure(tree: object) -> None:
    leaves = jax.tree.leaves(tree)
    rules = {"*": P()} if leaves else {}
    found = sdy.shardings(tree, rules, MESH)
    assert jax.tree.structure(found) == jax.tree.structure(tree)
    assert set(jax.tree.leaves(found)) <= {NamedSharding(MESH, P())}


def test_rules_must_be_a_mapping() -> None:
    with pytest.raises(sdy.SdyError, match="rules: expected Mapping"):
        sdy.shardings(TREE, [("*", P())])  # pyright: ignore[reportArgumentType]
