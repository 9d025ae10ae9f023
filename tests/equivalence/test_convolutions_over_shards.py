"""Convolutions along sharded spatial dims: devices exchange the edges of their shards, and add partial results."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

PERMUTE, ALL_REDUCE = CollectiveKind.COLLECTIVE_PERMUTE, CollectiveKind.ALL_REDUCE


def convolution(
    sizes: tuple[int, int, int],
    window: str,
    kernel_sharding: str,
    result_sharding: str,
    mesh: str = '<["x"=4]>',
    dims: str = "[b, 0, f]x[0, i, o]->[b, 0, f]",
) -> Program:
    """Return a program that convolves lines with a kernel, of these sizes along the sharded dim."""
    line, kernel, result = sizes
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<2x{line}x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}, {{}}]>}},
    %k: tensor<{kernel}x3x2xf32> {{sdy.sharding = #sdy.sharding<@m, {kernel_sharding}>}})
    -> (tensor<2x{result}x2xf32> {{sdy.sharding = #sdy.sharding<@m, {result_sharding}>}}) {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = {dims}, window = {{{window}}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<2x{line}x3xf32>, tensor<{kernel}x3x2xf32>) -> tensor<2x{result}x2xf32>
  return %0 : tensor<2x{result}x2xf32>
}}""")


def random_inputs(program: Program) -> list[np.ndarray]:
    generator = np.random.default_rng(5)
    return [generator.standard_normal(shape).astype(dtype) for shape, dtype in program.input_types]


KERNEL_GRADIENTS = [
    ((32, 32, 2), "pad = [[1, 0]]"),
    ((32, 32, 3), "stride = [2], pad = [[4, 0]]"),
    ((32, 32, 3), "pad = [[1, 1]]"),
    ((32, 16, 3), "pad = [[0, 1]], rhs_dilate = [2]"),
    ((32, 16, 2), "pad = [[-1, 1]], rhs_dilate = [2]"),
    ((16, 16, 7), "pad = [[3, 3]]"),
    ((32, 32, 1), "pad = [[0, 0]]"),
    ((8, 8, 3), "pad = [[0, 2]]"),
]


@pytest.mark.parametrize("mesh", ['<["x"=4]>', '<["x"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>'])
@pytest.mark.parametrize(("sizes", "window"), KERNEL_GRADIENTS)
def test_the_kernel_is_sharded_along_with_the_input(sizes: tuple[int, int, int], window: str, mesh: str) -> None:
    """As in the gradient with respect to a kernel: each device adds the products of its shards."""
    program = convolution(sizes, window, '[{"x"}, {}, {}]', "[{}, {}, {}]", mesh)
    assert set(count_of_collectives(program)) <= {PERMUTE, ALL_REDUCE}
    assert count_of_collectives(program)[ALL_REDUCE] == 1
    assert_same_on_shards(program, random_inputs(program))


def test_a_reversed_kernel_is_gathered() -> None:
    """The last shard of the kernel meets the first shard of the input."""
    program = convolution((32, 32, 2), "pad = [[1, 0]], reverse = [true]", '[{"x"}, {}, {}]', "[{}, {}, {}]")
    assert CollectiveKind.ALL_GATHER in count_of_collectives(program)
    assert_same_on_shards(program, random_inputs(program))


INPUT_GRADIENTS = [
    ((16, 3, 32), "pad = [[1, 2]], lhs_dilate = [2]", 1),
    ((16, 3, 32), "pad = [[2, 1]], lhs_dilate = [2]", 1),
    ((16, 4, 32), "pad = [[2, 2]], lhs_dilate = [2]", 2),
    ((16, 2, 32), "pad = [[0, 2]], lhs_dilate = [2]", 1),
    ((16, 5, 48), "pad = [[3, 3]], lhs_dilate = [3]", 2),
    ((16, 3, 16), "stride = [2], pad = [[1, 1]], lhs_dilate = [2]", 0),
    ((16, 3, 24), "stride = [2], pad = [[1, 2]], lhs_dilate = [3]", 0),
    ((16, 3, 32), "pad = [[-1, 4]], lhs_dilate = [2]", 1),
]


@pytest.mark.parametrize(("sizes", "window", "permutes"), INPUT_GRADIENTS)
def test_zeros_between_the_elements_of_the_input(sizes: tuple[int, int, int], window: str, permutes: int) -> None:
    """As in the gradient of a convolution with strides with respect to its input."""
    program = convolution(sizes, window, "[{}, {}, {}]", '[{}, {"x"}, {}]')
    assert count_of_collectives(program) == ({PERMUTE: permutes} if permutes else {})
    assert_same_on_shards(program, random_inputs(program))
