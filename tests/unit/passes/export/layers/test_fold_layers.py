"""Fold layers into functions and unfold them: the module, its locations and its results stay the same."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.export.layers.fold_layers import FoldLayersPass
from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
from sdy.passes.run import run_passes
from sdy.program.program import Program

MATRIX = "tensor<8x8xf32>"
SHARDED = '#sdy.sharding<@m, [{"x"}, {"y"}]>'
FOLD = FoldLayersPass(least_ops=3, least_saved=6)


def network(layers: int, skips: int = 0, length: int = 0) -> str:
    """Return layers with a weight and a loop each; a backward pass uses the forward results in reverse order."""
    more = ["tanh", "negate", "cosine"]
    weights = ", ".join(f"%w{number}: {MATRIX} {{sdy.sharding = {SHARDED}}}" for number in range(layers))
    lines = [f"%h0 = stablehlo.negate %x : {MATRIX}"]
    for number in range(layers):
        before = "%x" if number < skips else f"%h{number}"
        lines += [
            f"%d{number} = stablehlo.dot_general %h{number}, %w{number}, contracting_dims = [1] x [0]"
            f" : ({MATRIX}, {MATRIX}) -> {MATRIX}",
            f"%i{number} = stablehlo.constant dense<0> : tensor<i32>",
            f"%t{number}:2 = stablehlo.while(%n = %i{number}, %s = %d{number}) : tensor<i32>, {MATRIX}",
            "cond { %two = stablehlo.constant dense<2> : tensor<i32>",
            "%p = stablehlo.compare LT, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "stablehlo.return %p : tensor<i1> }",
            f"do {{ %a = stablehlo.add %s, {before} : {MATRIX}",
            "%one = stablehlo.constant dense<1> : tensor<i32>",
            "%m = stablehlo.add %n, %one : tensor<i32>",
            f"stablehlo.return %m, %a : tensor<i32>, {MATRIX} }}",
            f"%e{number}_0 = stablehlo.tanh %t{number}#1 : {MATRIX}",
            *(
                f"%e{number}_{step + 1} = stablehlo.{more[step * step % 3]} %e{number}_{step} : {MATRIX}"
                for step in range(length)
            ),
            f"%h{number + 1} = stablehlo.negate %e{number}_{length} : {MATRIX}",
        ]
    lines.append(f"%g{layers} = stablehlo.negate %h{layers} : {MATRIX}")
    for number in reversed(range(layers)):
        lines += [
            f"%k{number} = stablehlo.multiply %g{number + 1}, %d{number} : {MATRIX}",
            f"%q{number} = stablehlo.dot_general %k{number}, %w{number}, contracting_dims = [1] x [1]"
            f" : ({MATRIX}, {MATRIX}) -> {MATRIX}",
            f"%g{number} = stablehlo.tanh %q{number} : {MATRIX}",
        ]
    body = "\n  ".join(lines)
    return (
        f'sdy.mesh @m = <["x"=2, "y"=2]>\n'
        f"func.func @main(%x: {MATRIX} {{sdy.sharding = {SHARDED}}}, {weights}) -> {MATRIX} {{\n  {body}\n"
        f"  return %g0 : {MATRIX}\n}}"
    )


def lines_of(module: ModuleOp) -> list[int | None]:
    """Return the line of the location of each op, in program order."""
    spans = [span_of(op) for op in pre_order(module)]
    return [None if span is None else span.line for span in spans]


@pytest.mark.parametrize("skips", [0, 1])
def test_unfolding_inverts_folding(skips: int) -> None:
    module = parse_module(network(5, skips), "net.mlir")
    text, lines = print_module(module), lines_of(module)
    run_passes(make_context(), module, [FOLD], verify_each=False)
    verify_module(module)
    functions = functions_of(module)
    assert len(functions) == 3  # forward and backward
    assert len(list(functions["main"].body.block.ops)) < 30
    run_passes(make_context(), module, [UnfoldLayersPass()], verify_each=False)
    verify_module(module)
    assert print_module(module) == text
    assert lines_of(module) == lines


def test_first_layer_with_another_operand_is_not_folded() -> None:
    module = parse_module(network(6, skips=1), "net.mlir")
    run_passes(make_context(), module, [FOLD], verify_each=False)
    calls = [op.attributes for op in functions_of(module)["main"].body.block.ops if op.name == "func.call"]
    assert len(calls) == 5 + 6


def test_folded_program_computes_the_same_and_keeps_locations() -> None:
    program = Program.from_text(network(24, length=16), "net.mlir")
    assert all(comparison.agrees for comparison in program.verify())
    partitioned = program.partition()
    assert len(functions_of(partitioned.folded)) == 2
    assert len(functions_of(partitioned.global_module)) == len(functions_of(partitioned.local)) == 1
    lines = [span.line for op in pre_order(partitioned.local) if "all_" in op.name and (span := span_of(op))]
    assert len(set(lines)) >= 24  # each layer its own
