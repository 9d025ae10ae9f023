"""Pooling along sharded dims: shards receive the elements of their neighbors that their windows require."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')
SHARDINGS = ('[{"x"}, {}]', '[{"y"}, {"x"}]', '[{"x":(2)2, "y"}, {}]', '[{"x"}, {"y"}]')
INITS = {"add": "0.0", "maximum": "0xFF800000", "minimum": "3.0", "multiply": "unknown"}
PERMUTE = CollectiveKind.COLLECTIVE_PERMUTE


@dataclass(frozen=True)
class Window:
    """A window along the first dim, of 16 elements, with the distances between its elements and those of the input."""

    size: int
    stride: int = 1
    step: int = 1
    gap: int = 1
    low: int = 0
    high: int = 0

    @property
    def results(self) -> int:
        span, padded = (self.size - 1) * self.step + 1, 15 * self.gap + 1 + self.low + self.high
        return (padded - span) // self.stride + 1 if padded >= span else 0


def pooled(window: Window, op: str, sharding: str, mesh: str = MESHES[0], init: str = "") -> Program:
    """Return a program that combines the elements of windows of 16x8 elements by `op`; the second dim has one of 3."""
    result, value = f"tensor<{window.results}x8xf32>", init or INITS[op]
    initial = "%z" if value == "unknown" else "%c"
    return Program.from_text(
        f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}, %z: tensor<f32>)
    -> ({result} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}) {{
  %c = stablehlo.constant dense<{"0.0" if value == "unknown" else value}> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, {initial}) <{{
      window_dimensions = array<i64: {window.size}, 3>, window_strides = array<i64: {window.stride}, 1>,
      window_dilations = array<i64: {window.step}, 1>, base_dilations = array<i64: {window.gap}, 1>,
      padding = dense<[[{window.low}, {window.high}], [1, 1]]> : tensor<2x2xi64>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.{op} %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<16x8xf32>, tensor<f32>) -> {result}
  return %0 : {result}
}}"""
    )


def elements(seed: int) -> list[np.ndarray]:
    """Return small integers as floats, whose sums and products are exact, and an initial value."""
    generator = np.random.default_rng(seed)
    return [generator.integers(-3, 4, (16, 8)).astype(np.float32), np.array(2.0, np.float32)]


@pytest.mark.parametrize("op", INITS)
@pytest.mark.parametrize(
    ("window", "permutes"),
    [
        (Window(3, low=1, high=1), 2),
        (Window(2, high=1), 1),
        (Window(5, low=4), 1),
        (Window(3, stride=2, high=1), 1),
        (Window(3, stride=2, low=1), 1),
        (Window(2, step=3, low=1, high=2), 2),
        (Window(3, gap=2, low=2, high=1), 1),
        (Window(3, gap=2, stride=2, low=1, high=2), 0),  # the gaps alone reach the neighbors
        (Window(1, low=-1, high=1), 1),
        (Window(2, stride=2, high=1), 0),  # no window reaches the padding
    ],
)
def test_halos_are_received(window: Window, permutes: int, op: str) -> None:
    program = pooled(window, op, '[{"x"}, {}]')
    assert count_of_collectives(program) == ({PERMUTE: permutes} if permutes else {})
    assert_same_on_shards(program, elements(permutes))


def test_both_dims_are_sharded() -> None:
    program = pooled(Window(3, low=1, high=1), "maximum", '[{"x"}, {"y"}]', MESHES[1])
    assert count_of_collectives(program) == {PERMUTE: 4}
    assert_same_on_shards(program, elements(1))


def test_a_device_sends_the_halo_alone() -> None:
    found = pooled(Window(3, low=1, high=1), "add", '[{"x"}, {}]').cost("tpu_v5e").collectives
    assert sum(each.bytes_sent for each in found) == 2 * 8 * 4  # two rows


@pytest.mark.parametrize("window", [Window(6, low=5), Window(7, low=3, high=3), Window(4, step=3, high=9)])
def test_windows_that_require_more_than_the_next_shard_are_gathered(window: Window) -> None:
    program = pooled(window, "add", '[{"x", "y"}, {}]')
    assert PERMUTE not in count_of_collectives(program)
    assert_same_on_shards(program, elements(2))


def test_an_initial_value_that_is_a_negative_zero() -> None:
    values = [np.full((16, 8), -0.0, np.float32), np.array(0.0, np.float32)]
    assert_same_on_shards(pooled(Window(3, low=1, high=1), "add", '[{"x"}, {}]', init="-0.0"), values)


@pytest.mark.parametrize("seed", range(60))
def test_random_windows(seed: int) -> None:
    random = Random(seed)
    while True:
        window = Window(*(random.randint(1, most) for most in (5, 3, 2, 2)), *(random.randint(-1, 4) for _ in range(2)))
        if window.results and window.results % 8 == 0:
            break
    program = pooled(window, random.choice(list(INITS)), random.choice(SHARDINGS), random.choice(MESHES))
    assert_same_on_shards(program, elements(seed))
