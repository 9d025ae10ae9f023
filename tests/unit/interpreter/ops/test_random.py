from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import run_op, run_ops

from sdy.interpreter.ops.random import philox4x32, philox_bits, threefry2x32, threefry_bits


@pytest.fixture(autouse=True)
def as_in_a_run():
    """Silence integer overflow, as the executor does for kernels."""
    with np.errstate(all="ignore"):
        yield


ZERO = np.zeros(1, np.uint32)

# Known answers that the authors of both generators publish.


def test_threefry_gives_known_answers() -> None:
    left, right = threefry2x32((ZERO, ZERO), (ZERO, ZERO))
    assert [hex(int(word[0])) for word in (left, right)] == ["0x6b200159", "0x99ba4efe"]


def test_philox_gives_known_answers() -> None:
    result = philox4x32((ZERO, ZERO), (ZERO, ZERO, ZERO, ZERO))
    assert [hex(int(word[0])) for word in result] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_both_words_of_a_step_are_neighbours_along_one_dim() -> None:
    state = np.array([3, 5], np.uint64)
    after, bits = threefry_bits(state, (3, 2), 32)
    assert after.tolist() == [3, 8]
    _, flat = threefry_bits(state, (6,), 32)
    assert bits.reshape(-1).tolist() == flat.tolist()
    _, odd = threefry_bits(state, (3,), 32)
    assert odd.tolist() == flat[:3].tolist()


def test_narrow_bits_are_the_low_ones_of_wide_ones() -> None:
    state = np.array([3, 5], np.uint64)
    for generate in (threefry_bits, philox_bits):
        _, wide = generate(state, (4,), 32)
        _, narrow = generate(state, (4,), 8)
        assert narrow.tolist() == [int(bits) & 255 for bits in wide]
    assert threefry_bits(state, (), 32)[1].shape == ()


def test_the_counter_of_philox_carries() -> None:
    after, _ = philox_bits(np.array([1, 2**64 - 1, 4], np.uint64), (8,), 32)
    assert after.tolist() == [1, 1, 5]


def test_devices_have_their_own_state() -> None:
    states = np.array([[1, 0], [2, 0]], np.uint64)
    after, bits = threefry_bits(states, (3,), 64)
    assert after.tolist() == [[1, 3], [2, 3]]
    assert bits[0].tolist() == threefry_bits(states[0], (3,), 64)[1].tolist()


def test_bits_come_in_the_element_type_of_the_result() -> None:
    line = "stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi16>)"
    state, bits = run_ops(line, ("tensor<2xui64>", "tensor<4xi16>"), s=np.array([0, 0], np.uint64))
    assert (state.dtype, bits.dtype) == (np.uint64, np.int16)


@pytest.mark.parametrize("element", ["f32", "i32"])
def test_uniform_numbers_lie_in_their_range(element: str) -> None:
    dtype = {"f32": np.float32, "i32": np.int32}[element]
    types = f"(tensor<{element}>, tensor<{element}>, tensor<1xi64>) -> tensor<1000x{element}>"
    line = f"stablehlo.rng %a, %b, %n, distribution = UNIFORM : {types}"
    operands = {"a": np.array(3, dtype), "b": np.array(7, dtype), "n": np.array([1000])}
    numbers = run_op(line, f"tensor<1000x{element}>", **operands).astype(np.float64)
    assert numbers.min() >= 3
    assert numbers.max() < 7
    assert abs(numbers.mean() - (5 if element == "f32" else 4.5)) < 0.2


def test_normal_numbers_have_mean_and_deviation() -> None:
    types = "(tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4000xf32>"
    line = f"stablehlo.rng %a, %b, %n, distribution = NORMAL : {types}"
    operands = {"a": np.array(2, np.float32), "b": np.array(3, np.float32), "n": np.array([4000])}
    numbers = run_op(line, "tensor<4000xf32>", **operands).astype(np.float64)
    assert abs(numbers.mean() - 2) < 0.2
    assert abs(numbers.std() - 3) < 0.2
