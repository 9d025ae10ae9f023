"""Callbacks of JAX: the Python function runs on one device, with the global array, as in XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import jax
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

Function = Callable[[jax.Array], jax.Array]
SHAPE = jax.ShapeDtypeStruct((8, 4), np.float32)
VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)


def prints(x: jax.Array) -> jax.Array:
    jax.debug.print("first row {row}, sum {sum}", row=x[0], sum=x.sum())
    return x + 1


def prints_in_branch(x: jax.Array) -> jax.Array:
    def report(y: jax.Array) -> jax.Array:
        jax.debug.print("first row {row}, sum {sum}", row=y[0], sum=y.sum())
        return y * 2

    def double(y: jax.Array) -> jax.Array:
        return y * 2

    return cast(jax.Array, lax.cond(x.sum() > 0, report, double, x))


def prints_in_loop(x: jax.Array) -> jax.Array:
    def step(_: int, y: jax.Array) -> jax.Array:
        jax.debug.print("first row {row}, sum {sum}", row=x[0], sum=x.sum())
        return y + 1

    return cast(jax.Array, lax.fori_loop(0, 1, step, x))


def calls_pure_function(x: jax.Array) -> jax.Array:
    return cast(jax.Array, jax.pure_callback(np.sin, SHAPE, x)) + 1


def calls_function(x: jax.Array) -> jax.Array:
    return cast(jax.Array, io_callback(np.sin, SHAPE, x)) + 1


def inspects(x: jax.Array) -> jax.Array:
    y = x * 2
    jax.debug.inspect_array_sharding(y, callback=print)
    return y


def visualizes(x: jax.Array) -> jax.Array:
    jax.debug.visualize_array_sharding(x)
    return x * 2


def program_of(function: Function) -> Program[jax.Array]:
    """Lower a function of one array that is sharded along both dims over four devices."""
    sharded = NamedSharding(jax.make_mesh((2, 2), ("x", "y")), PartitionSpec("x", "y"))
    return sdy.from_jax(jax.jit(function, in_shardings=sharded), SHAPE)


@pytest.mark.parametrize("function", [prints, prints_in_branch, prints_in_loop])
def test_debug_print_prints_once(function: Function, capsys: pytest.CaptureFixture[str]) -> None:
    program = program_of(function)
    program.partition().run(VALUES)
    assert capsys.readouterr().out == "first row [0. 1. 2. 3.], sum 496.0\n"
    program.run(VALUES)
    assert capsys.readouterr().out == "first row [0. 1. 2. 3.], sum 496.0\n"
    assert all(outcome.agrees for outcome in program.verify(VALUES))


@pytest.mark.parametrize("function", [calls_pure_function, calls_function])
def test_results_of_callbacks(function: Function) -> None:
    program = program_of(function)
    assert all(outcome.agrees for outcome in program.verify(VALUES, expected=np.sin(VALUES) + 1))
    assert "callback" in program.report()


@pytest.mark.parametrize("function", [inspects, visualizes])
def test_inspected_shardings(function: Function) -> None:
    program = program_of(function)
    assert all(outcome.agrees for outcome in program.verify(VALUES, expected=2 * VALUES))


def test_text_does_not_contain_the_function() -> None:
    program = Program.from_text(str(program_of(prints)))
    program.partition().cost("h100")
    with pytest.raises(SdyError) as caught:
        program.run(VALUES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-X109"
    assert diagnostic.span is not None
