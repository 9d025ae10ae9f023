"""Collectives that add matrix products contract over devices, with the result of the steps that they join."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import DeviceArray, stacked
from sdy.interpreter.executor import OpObserver, compile_block
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.run import RunSettings, run_spmd

Floats = NDArray[np.float64]

DEVICES, SIZE = 4, 32
BY_AXIS, NOT_BY_AXIS = "[[0, 1], [2, 3]]", "[[0, 3], [2, 1]]"


def program(groups: str = BY_AXIS, element_type: str = "f32", computation: str = "add", returned: str = "%3") -> str:
    """Return a program that reduces `a @ b + b . a`, where the second product contracts other dims."""
    tensor, element = f"tensor<{SIZE}x{SIZE}x{element_type}>", f"tensor<{element_type}>"
    return f"""
func.func @main(%a: {tensor}, %b: {tensor}) -> {tensor} {{
  %0 = stablehlo.dot %a, %b : ({tensor}, {tensor}) -> {tensor}
  %1 = stablehlo.dot_general %b, %a, contracting_dims = [0] x [1] : ({tensor}, {tensor}) -> {tensor}
  %2 = stablehlo.add %0, %1 : {tensor}
  %3 = "stablehlo.all_reduce"(%2) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<{groups}> : tensor<2x2xi64>}}> ({{
  ^bb0(%x: {element}, %y: {element}):
    %s = stablehlo.{computation} %x, %y : {element}
    stablehlo.return %s : {element}
  }}) : ({tensor}) -> {tensor}
  return {returned} : {tensor}
}}"""


def scattering(groups: str = BY_AXIS) -> str:
    """Return the program with a reduce-scatter of the rows instead of the all-reduce."""
    tensor, shard = f"tensor<{SIZE}x{SIZE}xf32>", f"tensor<{SIZE // 2}x{SIZE}xf32>"
    text = program(groups).replace("all_reduce", "reduce_scatter").replace("<{", "<{scatter_dimension = 0 : i64, ")
    return (
        text.replace(f"({tensor}) -> {tensor}", f"({tensor}) -> {shard}")
        .replace(f"-> {tensor} {{", f"-> {shard} {{")
        .replace(f"return %3 : {tensor}", f"return %3 : {shard}")
    )


def ops_of_steps(text: str) -> list[str]:
    steps = compile_block(main_function(parse_module(text)).body.block, (), KERNELS).steps
    return [step.op.name.removeprefix("stablehlo.") for step in steps]


def run(text: str, inputs: list[DeviceArray], observer: OpObserver | None = None) -> Floats:
    (result,) = run_spmd(parse_module(text), inputs, inputs[0].grid, settings=RunSettings(observer))
    rows = result.array.shape[-2]
    return floats(np.broadcast_to(result.array, (*result.grid.sizes, rows, SIZE)).reshape(DEVICES, rows, SIZE))


def run_op_by_op(text: str, inputs: list[DeviceArray]) -> Floats:
    return run(text, inputs, lambda context, op, results: None)


def floats(array: Array) -> Floats:
    return array.astype(np.float64)


def random_inputs() -> list[DeviceArray]:
    random = np.random.default_rng(0)
    grid = grid_of(partition_count=1, replica_count=DEVICES)
    return [stacked(random.standard_normal((DEVICES, SIZE, SIZE)).astype(np.float32), grid) for _ in range(2)]


def test_products_are_joined_with_the_all_reduce_of_their_sum() -> None:
    assert ops_of_steps(program()) == ["all_reduce"]


@pytest.mark.parametrize(
    "text",
    [program(computation="maximum"), program(element_type="i32"), program(element_type="bf16"), program(returned="%2")],
    ids=["a maximum", "integers", "products that are rounded", "a sum with another user"],
)
def test_other_all_reduces_are_not_joined(text: str) -> None:
    assert ops_of_steps(text) == ["dot", "dot_general", "add", "all_reduce"]


@pytest.mark.parametrize("groups", [BY_AXIS, NOT_BY_AXIS])
def test_joined_steps_compute_the_sum_of_the_products(groups: str) -> None:
    inputs = random_inputs()
    found = run(program(groups), inputs)
    np.testing.assert_allclose(found, run_op_by_op(program(groups), inputs), rtol=1e-4, atol=1e-4)
    lhs, rhs = (floats(value.array) for value in inputs)
    products = lhs @ rhs + np.swapaxes(rhs, 1, 2) @ np.swapaxes(lhs, 1, 2)
    other = 1 if groups == BY_AXIS else 3
    np.testing.assert_allclose(found[0], products[0] + products[other], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [BY_AXIS, "[[0, 2], [1, 3]]", NOT_BY_AXIS])
def test_reduce_scatter_keeps_a_block_of_the_sum_on_each_device(groups: str) -> None:
    inputs = random_inputs()
    assert ops_of_steps(scattering(groups)) == ["reduce_scatter"]
    found, total = run(scattering(groups), inputs), run(program(groups), inputs)
    np.testing.assert_allclose(found, run_op_by_op(scattering(groups), inputs), rtol=1e-4, atol=1e-4)
    for members in json.loads(groups):
        blocks = np.concatenate([found[device] for device in members])
        np.testing.assert_allclose(blocks, total[members[0]], rtol=1e-4, atol=1e-4)


def test_operand_that_all_devices_share_is_summed_once_per_device() -> None:
    lhs, rhs = random_inputs()
    shared = DeviceArray(rhs.array[:1], rhs.grid)
    for inputs in ([lhs, shared], [shared, lhs], [shared, shared]):
        found = run(program(), inputs)
        np.testing.assert_allclose(found, run_op_by_op(program(), inputs), rtol=1e-4, atol=1e-4)


def test_all_members_of_a_group_hold_one_sum() -> None:
    inputs = random_inputs()
    (result,) = run_spmd(parse_module(program()), inputs, inputs[0].grid)
    assert result.array.shape == (2, 1, SIZE, SIZE)
