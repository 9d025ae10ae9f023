"""Programs of one op, against the reference interpreter of StableHLO."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import ir, jax_mlir
from support.random_ops.draft import Draft
from support.random_ops.families import FAMILIES, random_program

from sdy.dialects.module_text import parse_module
from sdy.dialects.verify import verify_module
from sdy.interpreter.arguments import parse_inputs
from sdy.interpreter.comparison import almost_equal, ulp_distance
from sdy.interpreter.element_types import Array
from sdy.interpreter.single import interpret

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")

PROGRAMS_PER_FAMILY = 15


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
    assert agree.all(), f"{actual[~agree][:4]} instead of {expected[~agree][:4]} in\n{draft.text()}"


@pytest.mark.parametrize("seed", range(PROGRAMS_PER_FAMILY))
@pytest.mark.parametrize("family", FAMILIES)
def test_op_computes_what_the_reference_computes(family: str, seed: int) -> None:
    draft = random_program(family, seed)
    module = parse_module(draft.text())
    verify_module(module)
    for actual, expected in zip(interpret(module), reference(draft.text()), strict=True):
        assert_same(draft, actual, expected)
