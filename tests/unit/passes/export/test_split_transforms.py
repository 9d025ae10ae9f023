"""Fourier transforms of several dims, one after the other: the same values for fewer bytes."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from support.execution.before_and_after import before_and_after
from support.execution.on_shards import assert_same_on_shards

from sdy.dialects.ir.walk import of_class, pre_order
from sdy.dialects.stablehlo.linalg import FftOp
from sdy.evidence.runs.arrays import random_inputs
from sdy.passes.export.optimize.split_transforms import SplitTransformsPass
from sdy.program.program import Program

SHARDINGS = {  # of the dims of the operand and of the result
    '{"x"}, {}, {}': '{}, {"x"}, {}',
    '{}, {"x"}, {}': '{"x"}, {}, {}',
    '{}, {}, {"x"}': '{"x"}, {}, {}',
    '{"x"}, {"y"}, {}': '{"x"}, {}, {"y"}',
}
KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


def program(kind: str, operand: str, result: str, sizes: tuple[int, ...] = (8, 4, 16)) -> str:
    """Return a program that transforms all dims of a tensor."""
    full, half = "x".join(map(str, sizes)), "x".join(map(str, (*sizes[:-1], sizes[-1] // 2 + 1)))
    types = {
        "RFFT": (f"tensor<{full}xf32>", f"tensor<{half}xcomplex<f32>>"),
        "IRFFT": (f"tensor<{half}xcomplex<f32>>", f"tensor<{full}xf32>"),
    }
    taken, given = types.get(kind, (f"tensor<{full}xcomplex<f32>>",) * 2)
    return f"""
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: {taken} {{sdy.sharding = #sdy.sharding<@m, [{operand}]>}})
    -> ({given} {{sdy.sharding = #sdy.sharding<@m, [{result}]>}}) {{
  %0 = stablehlo.fft %a, type = {kind}, length = {list(sizes)}
    {{sdy.sharding = #sdy.sharding_per_value<[<@m, [{result}]>]>}} : ({taken}) -> {given}
  return %0 : {given}
}}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operand", SHARDINGS)
def test_the_values_are_those_of_one_transform(operand: str, kind: str) -> None:
    text = program(kind, operand, SHARDINGS[operand])
    before, after, module = before_and_after(text, SplitTransformsPass(), seed=0)
    assert len(of_class(pre_order(module), FftOp)) == 3
    assert before.dtype == after.dtype
    expected, found = before.astype(np.complex128), after.astype(np.complex128)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operand", SHARDINGS)
def test_no_more_is_sent_than_by_one_transform(operand: str, kind: str) -> None:
    found = Program.from_text(program(kind, operand, SHARDINGS[operand]))
    assert found.cost("h100").bytes_sent <= found.without_optimizer().cost("h100").bytes_sent
    assert_same_on_shards(found, random_inputs(found.module, 0))
    assert found.prove().is_proved


def test_a_sharded_transform_exchanges_its_shards_once() -> None:
    sizes = 64, 64
    found = Program.from_text(program("FFT", '{"x"}, {}', '{}, {"x"}', sizes))
    assert found.cost("h100").bytes_sent == prod(sizes) * 8 / 2 / 2  # half of a shard of half of the tensor


def test_transforms_of_dims_that_are_all_sharded_or_none_stay() -> None:
    for sharding in ("{}, {}", '{"x"}, {"y"}'):
        _, _, module = before_and_after(program("FFT", sharding, sharding, (8, 8)), SplitTransformsPass(), seed=0)
        assert len(of_class(pre_order(module), FftOp)) == 1
