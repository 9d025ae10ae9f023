"""Programs of one op, against the reference interpreter of StableHLO."""

from __future__ import annotations

from typing import cast

import ml_dtypes
import numpy as np
import pytest
from support.oracle import ir, jax_mlir
from support.random_ops.draft import Draft
from support.random_ops.families import FAMILIES, random_program

from sdy.dialects.module_text import parse_module
from sdy.dialects.verify import verify_module
from sdy.interpreter.arguments import parse_inputs
from sdy.interpreter.comparison import Bools, almost_equal, ulp_distance
from sdy.interpreter.element_types import Array, DType, is_float
from sdy.interpreter.single import interpret

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")

PROGRAMS_PER_FAMILY = 12
SLOW_PROGRAMS = 10_000
FINITE = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
MOST_REPLACED = 0.5  # of the programs of one family, in part or whole


def reference(text: str) -> list[Array]:
    """What the reference makes of a program. It aborts the process on some programs, none of which are generated."""
    context = jax_mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        results = stablehlo.eval_module(ir.Module.parse(text), [])
        return parse_inputs(f"[{', '.join(map(str, results))}]")


def assert_same(draft: Draft, actual: Array, expected: Array) -> None:
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    agree = ulp_distance(actual, expected) <= draft.ulps
    if draft.closeness:
        magnitude = np.abs(expected.astype(np.float64))
        largest = float(np.where(np.isfinite(magnitude), magnitude, 0.0).max(initial=1.0))
        agree = agree | almost_equal(actual, expected, draft.closeness * largest)
    if draft.terms and is_float(actual.dtype):
        agree = agree | (
            np.abs(actual.astype(np.float64) - expected.astype(np.float64)) <= allowed_error(draft, actual.dtype)
        )
    agree = agree | is_lost_infinity(draft, actual, expected)
    assert agree.all(), f"{actual[~agree][:4]} instead of {expected[~agree][:4]} in\n{draft.text()}"


def allowed_error(draft: Draft, dtype: DType) -> float:
    """n times the relative error of the format, for n terms, of the largest sum that they can have."""
    return draft.terms * float(cast(float, ml_dtypes.finfo(dtype).eps)) * draft.terms * max(draft.scale, 1.0)


def is_lost_infinity(draft: Draft, actual: Array, expected: Array) -> Bools:
    """Where a format without infinity holds its largest number instead of one: the reference makes 0 of that."""
    if actual.dtype.name not in FINITE:
        return np.zeros(actual.shape, np.bool_)
    largest = float(cast(float, ml_dtypes.finfo(actual.dtype).max))
    is_lost = (np.abs(actual.astype(np.float64)) == largest) & (expected.astype(np.float64) == 0)
    draft.replaced(None, bool(is_lost.any()))
    return is_lost


def check(family: str, seed: int) -> Draft:
    """Run one program both ways."""
    draft = random_program(family, seed)
    module = parse_module(draft.text())
    verify_module(module)
    for actual, expected in zip(interpret(module), reference(draft.text()), strict=True):
        assert_same(draft, actual, expected)
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
