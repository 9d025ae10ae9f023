"""JAX functions return the results of JAX on one device, on simulated devices and on JAX devices."""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from support.jax_programs.functions import JaxCase, array, cases

import sdy

NAMES = list(cases())


def leaves(tree: object) -> list[jax.Array]:
    return cast(list[jax.Array], jax.tree.leaves(tree))


def assert_same(actual: object, expected: object) -> None:
    """Check that two trees of arrays are equal up to rounding."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for ours, theirs in zip(leaves(actual), leaves(expected), strict=True):
        if jnp.issubdtype(theirs.dtype, jax.dtypes.prng_key):
            assert ours.dtype == theirs.dtype
            ours, theirs = jax.random.key_data(ours), jax.random.key_data(theirs)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-5)


def of_jax(case: JaxCase) -> object:
    return cast(object, jax.jit(case.function)(*case.arguments))


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_jax(name: str) -> None:
    case = cases()[name]
    program, expected = sdy.from_jax(case.function, *case.arguments), of_jax(case)
    assert_same(program.run(*case.arguments), expected)
    assert_same(program.partition().run(*case.arguments), expected)
    assert_same(program.partition().to_jax()(*case.arguments), expected)
    outcomes = program.verify(*case.arguments, expected=expected)
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == []


@pytest.mark.parametrize("name", NAMES)
def test_results_on_devices_have_the_shardings_of_the_program(name: str) -> None:
    case = cases()[name]
    partitioned = sdy.from_jax(case.function, *case.arguments).partition()
    results, shardings = partitioned.to_jax()(*case.arguments), partitioned.output_shardings()
    assert jax.tree.structure(results) == jax.tree.structure(shardings)
    for result, sharding in zip(leaves(results), cast(list[NamedSharding], jax.tree.leaves(shardings)), strict=True):
        assert result.sharding.is_equivalent_to(sharding, result.ndim)


def test_function_on_devices_can_be_traced_by_jax() -> None:
    w, x = array((8, 16), None, "y"), array((8, 8), "x", seed=1)
    case = cases()["jit"]
    on_devices = sdy.from_jax(case.function, w, x).partition().to_jax()

    def twice(w: jax.Array, x: jax.Array) -> dict[str, jax.Array]:
        return {"twice": 2 * cast(jax.Array, on_devices(w, x))}

    assert_same(cast(object, jax.jit(twice)(w, x)), {"twice": 2 * jnp.tanh(x @ w)})
