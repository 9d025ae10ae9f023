"""Callbacks of JAX: the Python function runs on one device, with the global array, as in XLA."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

LAYOUT: Any = import_module("jax.experimental.layout")  # whose functions have no types
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


@pytest.mark.parametrize("function", [prints, calls_pure_function])
def test_callbacks_do_not_run_on_jax_devices(function: Function) -> None:
    with pytest.raises(SdyError) as caught:
        program_of(function).partition().to_jax()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-X109"
    assert "@xla_ffi_python_cpu_callback" in diagnostic.message
    assert "test_jax_callbacks.py" in str(diagnostic.span)


def test_xla_is_not_run_with_callbacks() -> None:
    ours, xla = sdy.compare_partitioners(program_of(prints), ["xla"])
    assert ours.comparisons
    assert xla.statistics is not None
    assert "not run: XLA cannot run @xla_ffi_python_cpu_callback" in str(xla.problem)


def prints_shards(x: jax.Array) -> jax.Array:
    def prints_shape(y: jax.Array) -> None:
        print(y.shape)

    jax.debug.callback(prints_shape, x, partitioned=True)
    return x + 1


def test_partitioned_callbacks_get_the_shards(capsys: pytest.CaptureFixture[str]) -> None:
    program = program_of(prints_shards)
    assert "all_gather" not in str(program.partition())
    program.partition().run(VALUES)
    assert capsys.readouterr().out == "(4, 2)\n" * 4
    program.run(VALUES)
    assert capsys.readouterr().out == "(8, 4)\n"


def keeps_layout(x: jax.Array) -> jax.Array:
    return LAYOUT.with_layout_constraint(x * 2, LAYOUT.Layout(major_to_minor=(1, 0)))


@pytest.mark.parametrize("function", [keeps_layout, inspects])
def test_calls_that_return_their_operand(function: Function) -> None:
    program = program_of(function)
    assert program.prove().is_proved
    assert all(outcome.agrees for outcome in program.verify(VALUES, expected=2 * VALUES))


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def partitioned(on_shards: Callable[..., jax.Array], dtype: Any, *spec: str | tuple[str, ...] | None) -> Program[Any]:
    """Return a program with a matrix product that devices compute by another function."""

    def partition(mesh: Any, operands: Any, result: Any) -> tuple[Any, ...]:
        return mesh, on_shards, result.sharding, tuple(each.sharding for each in operands)

    call: Any = custom_partitioning(product)
    call.def_partition(partition=partition, sharding_rule="i k, k j -> i j", reduction_factors=("k",))
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    placed = NamedSharding(mesh, PartitionSpec(*spec))

    def multiplied(x: jax.Array, y: jax.Array) -> jax.Array:
        return cast(jax.Array, call(x, y)) + 1

    return sdy.from_jax(
        multiplied,
        jax.ShapeDtypeStruct((16, 8), dtype, sharding=placed),
        jax.ShapeDtypeStruct((8, 4), dtype),
    )


@pytest.mark.parametrize("spec", [(), ("x",), (None, "y"), ("x", "y"), (("x", "y"),), (None, ("y", "x"))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, jnp.bfloat16])
def test_custom_partitioning_runs_its_partition_function(dtype: Any, spec: tuple[str, ...]) -> None:
    assert all(output.agrees for output in partitioned(product, dtype, *spec).verify())


def test_a_wrong_partition_function_is_found() -> None:
    def one_more(x: jax.Array, y: jax.Array) -> jax.Array:
        return x @ y + 1

    assert not any(output.agrees for output in partitioned(one_more, np.float32, "x", "y").verify())


def test_an_error_of_a_partition_function_is_one_diagnostic() -> None:
    def fails(x: jax.Array, y: jax.Array) -> jax.Array:
        raise ZeroDivisionError

    with pytest.raises(SdyError) as caught:
        partitioned(fails, np.float32, "x").verify()
    assert caught.value.diagnostics[0].code == "SDY-X111"


def test_text_does_not_contain_the_partition_function() -> None:
    program = partitioned(product, np.float32, "x")
    for run in (Program.from_text(str(program)).verify, program.partition().to_jax):
        with pytest.raises(SdyError) as caught:
            run()
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "SDY-X109"


def test_text_does_not_contain_the_function() -> None:
    program = Program.from_text(str(program_of(prints)))
    program.partition().cost("h100")
    with pytest.raises(SdyError) as caught:
        program.run(VALUES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-X109"
    assert diagnostic.span is not None


def test_ordered_callbacks_with_results_run_in_calls_of_the_function() -> None:
    called: list[float] = []

    def host(total: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        called.append(float(total))
        return np.asarray(total) * 2

    def function(x: jax.Array) -> jax.Array:
        scale = io_callback(host, jax.ShapeDtypeStruct((), np.float32), x.sum(), ordered=True)
        jax.debug.print("{scale}", scale=scale, ordered=True)
        return x * scale

    program = sdy.from_jax(function, SHAPE)
    assert np.array_equal(np.asarray(program.run(VALUES)), VALUES * VALUES.sum() * 2)
    assert called == [VALUES.sum()]
    assert all(each.agrees for each in program.verify(VALUES))
