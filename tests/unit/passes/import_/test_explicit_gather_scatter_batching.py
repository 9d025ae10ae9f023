"""Explicit batching dims of gathers and scatters."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.run import interpret
from sdy.passes.import_.explicit_gather_scatter_batching import ExplicitGatherScatterBatchingPass

POSITION = "%position = stablehlo.iota dim = 0 : tensor<4x1xi32>\n"
OTHER = "%other = stablehlo.slice %index [0:4, 0:1] : (tensor<4x2xi32>) -> tensor<4x1xi32>\n"


def program(indices: str, *, width: int = 2, index_map: str = "[0, 1]") -> str:
    """Return a program with a gather and a scatter on a 4x8 table, with these indices."""
    kind = f"tensor<4x{width}xi32>"
    collapsed = f"[{', '.join(map(str, range(width)))}]"
    table = f"tensor<4x{'x'.join(['8'] * (width - 1))}xi32>"
    sizes = ", ".join(["1"] * width)
    return (
        f"func.func @main(%table: {table}, %index: tensor<4x2xi32>, %new: tensor<4xi32>) "
        f"-> (tensor<4xi32>, {table}) {{\n"
        f"{indices}\n"
        f'%taken = "stablehlo.gather"(%table, %i) <{{dimension_numbers = #stablehlo.gather<'
        f"collapsed_slice_dims = {collapsed}, start_index_map = {index_map}, index_vector_dim = 1>, "
        f"slice_sizes = array<i64: {sizes}>, indices_are_sorted = true}}> : ({table}, {kind}) -> tensor<4xi32>\n"
        f'%put = "stablehlo.scatter"(%table, %i, %new) <{{scatter_dimension_numbers = #stablehlo.scatter<'
        f"inserted_window_dims = {collapsed}, scatter_dims_to_operand_dims = {index_map}, index_vector_dim = 1>}}> "
        "({\n^bb0(%old: tensor<i32>, %update: tensor<i32>):\n"
        "%sum = stablehlo.add %old, %update : tensor<i32>\nstablehlo.return %sum : tensor<i32>\n"
        f"}}) : ({table}, {kind}, tensor<4xi32>) -> {table}\n"
        f"return %taken, %put : tensor<4xi32>, {table}\n}}"
    )


def concatenated(*parts: str) -> str:
    types = ", ".join(["tensor<4x1xi32>"] * len(parts))
    head = f"%i = stablehlo.concatenate {', '.join(parts)}, dim = 1"
    return f"{POSITION}{OTHER}{head} : ({types}) -> tensor<4x{len(parts)}xi32>"


def rewritten(text: str) -> str:
    """Return the program after the pass, and check that it computes the same, also for out-of-bounds indices."""
    module = parse_module(text, "test.mlir")
    random = np.random.default_rng(0)
    rank = text.partition(",")[0].count("x8") + 1
    table = random.integers(0, 100, (4, *[8] * (rank - 1))).astype(np.int32)
    inputs = [table, random.integers(-2, 10, (4, 2)).astype(np.int32), random.integers(0, 9, 4).astype(np.int32)]
    before = interpret(module, inputs)
    ExplicitGatherScatterBatchingPass().apply(make_context(), module)
    verify_module(module)
    for first, second in zip(before, interpret(module, inputs), strict=True):
        np.testing.assert_array_equal(first, second)
    return print_module(module)


@pytest.mark.parametrize(
    ("text", "left_of_the_map"),
    [
        (program(concatenated("%position", "%other")), "[1]"),
        (program(concatenated("%other", "%position"), index_map="[1, 0]"), "[1]"),
        (program(concatenated("%other", "%position", "%other"), width=3, index_map="[2, 0, 1]"), "[2, 1]"),
    ],
)
def test_position_index_becomes_a_batching_dim(text: str, left_of_the_map: str) -> None:
    after = rewritten(text)
    assert after.count("batching_dims = [0]") == 4
    assert f"start_index_map = {left_of_the_map}" in after
    assert f"scatter_dims_to_operand_dims = {left_of_the_map}" in after
    assert "iota" not in after
    assert "indices_are_sorted = true" not in after


def test_position_index_in_a_wide_operand_is_sliced_out() -> None:
    wide = "%i = stablehlo.iota dim = 0 : tensor<4x2xi32>"
    after = rewritten(program(wide))
    assert after.count("stablehlo.slice") == 2
    assert after.count("[0:4, 1:2]") == 2


@pytest.mark.parametrize(
    "indices",
    [
        concatenated("%other", "%position"),  # the position is along dim 1
        concatenated("%other", "%other"),
        "%i = stablehlo.negate %index : tensor<4x2xi32>",
        "%i = stablehlo.iota dim = 1 : tensor<4x2xi32>",
    ],
)
def test_other_gathers_are_unchanged(indices: str) -> None:
    assert "batching_dims" not in rewritten(program(indices))
