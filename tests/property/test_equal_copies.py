"""Devices that hold equal copies of the operands compute equal copies of the results, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.run import interpret, run_spmd

GRID = Grid((3,), replica_count=1, partition_count=3)
SIZES = st.sampled_from((1, 3, 7, 30, 33, 64, 100))


def check(text: str, inputs: list[Array], varying: list[bool]) -> None:
    """Check that three devices compute what one computes; of `varying` inputs, each device has its own copy."""
    module = parse_module(text)
    expected = interpret(module, inputs)
    copies = [
        DeviceArray(np.stack([array] * 3) if is_varying else array[np.newaxis], GRID)
        for array, is_varying in zip(inputs, varying, strict=True)
    ]
    for result, alone in zip(run_spmd(module, copies, GRID), expected, strict=True):
        for device in range(3):
            np.testing.assert_array_equal(result.device_view(device), alone)


@pytest.mark.parametrize("element", ["f32", "f64"])
@given(sizes=st.tuples(SIZES, SIZES, SIZES), varying=st.tuples(st.booleans(), st.booleans()), data=st.data())
@settings(max_examples=40)
def test_products(element: str, sizes: tuple[int, int, int], varying: tuple[bool, bool], data: st.DataObject) -> None:
    rows, summed, columns = sizes
    is_transposed = data.draw(st.booleans())
    shapes = ((summed, rows) if is_transposed else (rows, summed)), (summed, columns)
    left, right = (f"tensor<{a}x{b}x{element}>" for a, b in shapes)
    result = f"tensor<{rows}x{columns}x{element}>"
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape).astype(element.replace("f", "float")) for shape in shapes]
    dims = f"contracting_dims = [{0 if is_transposed else 1}] x [0]"
    check(
        f"""func.func @main(%a: {left}, %b: {right}) -> {result} {{
  %0 = stablehlo.dot_general %a, %b, {dims} : ({left}, {right}) -> {result}
  return %0 : {result}
}}""",
        inputs,
        list(varying),
    )


@pytest.mark.parametrize("channels", [3, 5])
@pytest.mark.parametrize("varying", [(True, False), (False, True), (True, True)])
def test_convolutions(channels: int, varying: tuple[bool, bool]) -> None:
    image, kernel = f"tensor<3x9x9x{channels}xf32>", f"tensor<3x3x{channels}x7xf32>"
    random = np.random.default_rng(0)
    shapes = ((3, 9, 9, channels), (3, 3, channels, 7))
    check(
        f"""func.func @main(%a: {image}, %b: {kernel}) -> tensor<3x7x7x7xf32> {{
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> tensor<3x7x7x7xf32>
  return %0 : tensor<3x7x7x7xf32>
}}""",
        [random.standard_normal(shape).astype(np.float32) for shape in shapes],
        list(varying),
    )
