"""Compare the interpreter with the StableHLO reference interpreter on programs of one op."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from support.oracle.jaxlib_mlir import ir, jax_mlir
from support.random_ops.draft import COMPLEX, ELEMENTS, Draft, tensor
from support.random_ops.families import FAMILIES, random_program
from support.random_ops.not_compared import NOT_COMPARED, Exceptions
from xdsl.traits import IsTerminator

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of, is_float
from sdy.interpreter.ops.check import Bools, ulp_distance
from sdy.interpreter.run import interpret, parse_inputs
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.run import run_passes

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")

Floats = NDArray[np.float64]

PROGRAMS_PER_FAMILY = 12
SLOW_PROGRAMS = 10_000
COMPLEX_OPS = {"abs": 1, "sign": 1, "rsqrt": 1, "logistic": 1} | dict.fromkeys(
    ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "subtract"), 2
)
FINITE = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
EVERY_OP_BY = 250  # programs of each family
MOST_REPLACED = 0.5  # of the programs of one family


def reference(text: str) -> list[Array]:
    """Return the results of the reference. It aborts the process on some programs, which are not generated."""
    context = jax_mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        results = stablehlo.eval_module(ir.Module.parse(expanded(text)), [])
        return parse_inputs(f"[{', '.join(map(str, results))}]")


def expanded(text: str) -> str:
    """Expand CHLO ops, which the reference does not support."""
    if "chlo." not in text:
        return text
    module = parse_module(text)
    run_passes(make_context(), module, [ChloLegalizeToStablehloPass()])
    return print_module(module)


def assert_same(draft: Draft, actual: Array, expected: Array, allowed: Floats) -> None:
    """Check equality bit for bit, within `draft.ulps`, or within the allowed rounding errors."""
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    agree = ulp_distance(actual, expected) <= draft.ulps if draft.ulps else same_bits(actual, expected)
    if is_float(actual.dtype):
        agree = agree | within(actual, expected, allowed) | is_lost_infinity(draft, actual, expected)
    assert agree.all(), f"{actual[~agree][:4]} instead of {expected[~agree][:4]} in\n{draft.text()}"


def same_bits(actual: Array, expected: Array) -> Bools:
    """Return where arrays have the same bits or are both NaN, which has several representations."""
    bits = [
        np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
        for array in (actual, expected)
    ]
    return np.equal(*bits) | (ulp_distance(actual, expected) == 0) & (actual != actual)


def within(actual: Array, expected: Array, allowed: Floats) -> Bools:
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        return np.abs(actual.astype(np.float64) - expected.astype(np.float64)) <= allowed


def allowed_errors(draft: Draft, results: list[Array]) -> list[Floats]:
    """Return the allowed rounding error of each element of each result."""
    if draft.bounds:
        return [np.asarray(bound, np.float64) for bound in draft.bounds]
    if draft.terms and is_float(results[0].dtype):
        return [
            allowed_error_of_sum(draft, result, large)
            for result, large in zip(results, reference(draft.magnitudes().text()), strict=True)
        ]
    if draft.ulps and draft.has_complex_results:
        moduli = [np.hypot(*results[index : index + 2]) for index in range(0, len(results), 2)]
        return [draft.ulps * epsilon(modulus.dtype) * modulus for modulus in moduli for _ in range(2)]
    return [np.zeros(()) for _ in results]


def allowed_error_of_sum(draft: Draft, result: Array, magnitude: Array) -> Floats:
    """Return n relative errors of the sum of absolute values, for a sum of n terms.

    In any order of summation each of the n - 1 additions has an error of at most half a unit in the last place of the
    partial sum, which is at most the sum of absolute values; two such sums differ by at most twice as much. Products
    are rounded too, with an error of one smallest subnormal near zero. A sum that may overflow may have any result.
    """
    wide = magnitude.astype(np.float64)
    error = draft.terms * (
        epsilon(result.dtype) * wide + float(cast(float, ml_dtypes.finfo(result.dtype).smallest_subnormal))
    )
    may_overflow = wide > float(cast(float, ml_dtypes.finfo(result.dtype).max))
    draft.replaced(None, bool(may_overflow.any()))
    return np.where(may_overflow, np.inf, error)


def epsilon(dtype: DType) -> float:
    """Return the distance from 1 to the next number."""
    return float(cast(float, ml_dtypes.finfo(dtype).eps))


def is_lost_infinity(draft: Draft, actual: Array, expected: Array) -> Bools:
    """Return where we saturate to the largest number of a format without infinity and the reference returns 0."""
    if actual.dtype.name not in FINITE:
        return np.zeros(actual.shape, np.bool_)
    largest = float(cast(float, ml_dtypes.finfo(actual.dtype).max))
    is_lost = (np.abs(actual.astype(np.float64)) == largest) & (expected.astype(np.float64) == 0)
    draft.replaced(None, bool(is_lost.any()))
    return is_lost


def check(family: str, seed: int) -> Draft:
    """Compare our result of one program with the reference."""
    draft = random_program(family, seed)
    module = parse_module(draft.text())
    verify_module(module)
    references = reference(draft.text())
    for actual, expected, allowed in zip(interpret(module), references, allowed_errors(draft, references), strict=True):
        assert_same(draft, actual, expected, allowed)
    return draft


@pytest.mark.parametrize("seed", range(PROGRAMS_PER_FAMILY))
@pytest.mark.parametrize("family", FAMILIES)
def test_op_computes_what_the_reference_computes(family: str, seed: int) -> None:
    check(family, seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_programs_compute_what_the_reference_computes(family: str) -> None:
    seeds = range(1000, 1000 + -(-SLOW_PROGRAMS // len(FAMILIES)))
    replaced = sum(check(family, seed).replacements > 0 for seed in seeds)
    assert replaced <= MOST_REPLACED * len(seeds)


@pytest.mark.parametrize("element", COMPLEX)
@pytest.mark.parametrize("op", COMPLEX_OPS)
def test_complex_ops_compute_what_the_reference_computes_at_special_values(op: str, element: str) -> None:
    draft = Draft(np.random.default_rng(0))
    dtype = dtype_of(ELEMENTS[element])
    limits = np.finfo(np.float32 if dtype.itemsize == 8 else np.float64)
    numbers = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, float(limits.max), float(limits.tiny), 3e-5]
    points = np.array([complex(*pair) for pair in product(numbers, repeat=2)]).astype(dtype)
    count = COMPLEX_OPS[op]
    sides = [side.reshape(-1) for side in np.meshgrid(*[points] * count)]
    operands = ", ".join(draft.constant(side, element) for side in sides)
    kind = tensor(sides[0].shape, element)
    result = tensor(sides[0].shape, element[8:11]) if op == "abs" else kind
    draft.op(f'"stablehlo.{op}"({operands}) : ({", ".join([kind] * count)}) -> {result}', result)
    for actual, expected in zip(interpret(parse_module(draft.text())), reference(draft.text()), strict=True):
        assert_same(draft, actual, expected, np.zeros(()))


def test_every_op_is_compared_or_tested_elsewhere() -> None:
    """Check all ops except terminators."""
    texts = (random_program(family, seed).text() for family in FAMILIES for seed in range(EVERY_OP_BY))
    compared = {name for text in texts for name in re.findall(r"(?:stablehlo|chlo)\.[\w-]+", text)}
    excepted = [op for group in NOT_COMPARED for op in group.ops]
    ops = [op for dialect in (STABLEHLO, CHLO) for op in dialect.operations if not op.has_trait(IsTerminator)]
    assert len(excepted) == len(set(excepted))
    assert compared.isdisjoint(excepted)
    assert {op.name for op in ops} - {*compared, *excepted} == {"chlo._asin_acos_kernel"}  # an internal op


@pytest.mark.parametrize("group", NOT_COMPARED, ids=lambda group: group.tested_by)
def test_ops_that_are_not_compared_have_tests(group: Exceptions) -> None:
    text = (Path(__file__).parents[1] / group.tested_by).read_text()
    assert [op for op in group.ops if not re.search(rf"\b{op.partition('.')[2]}\b", text)] == []
