"""Partitioned programs on difficult inputs: NaN, infinities, zeros, ties, clamped indices, empty tensors."""

from __future__ import annotations

import pytest

from sdy.evidence.runs.special_values import special_rounds
from sdy.program.program import Program

MESHES = ('<["x"=4]>', '<["x"=2, "y"=2]>', '<["x"=3]>', '<["x"=8], device_ids=[7, 0, 6, 1, 5, 2, 4, 3]>')


def sharded(kind: str, *dims: str) -> str:
    """Return a tensor type with the sharding axes of its dims."""
    axes = ", ".join(f"{{{', '.join(map(repr, dim.split()))}}}".replace("'", '"') for dim in dims)
    return f"tensor<{kind}> {{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}"


def program(arguments: str, results: str, *lines: str) -> str:
    """Return the text of a module without its mesh."""
    body = "\n  ".join(lines)
    return f"func.func @main({arguments}) -> ({results}) {{\n  {body}\n}}\n"


def folding(op: str, element: str, init: str) -> str:
    """Return a program that reduces a tensor along its sharded dim."""
    return program(
        f"%a: {sharded(f'8x3x{element}', 'x', '')}",
        sharded(f"3x{element}", ""),
        f"%c = stablehlo.constant dense<{init}> : tensor<{element}>",
        f"%0 = stablehlo.reduce(%a init: %c) applies stablehlo.{op} across dimensions = [0]",
        f"  : (tensor<8x3x{element}>, tensor<{element}>) -> tensor<3x{element}>",
        f"return %0 : tensor<3x{element}>",
    )


def region(*lines: str, arguments: str) -> str:
    """Return the text of a region of these lines."""
    return "({\n  ^bb0(" + arguments + "):\n    " + "\n    ".join(lines) + "\n  })"


ARGMAX = region(
    "%gt = stablehlo.compare GT, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "%nan = stablehlo.compare NE, %v, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "%wins = stablehlo.or %gt, %nan : tensor<i1>",
    "%eq = stablehlo.compare EQ, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "%first = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>",
    "%tie = stablehlo.and %eq, %first : tensor<i1>",
    "%keep = stablehlo.or %wins, %tie : tensor<i1>",
    "%x = stablehlo.select %wins, %v, %w : tensor<i1>, tensor<f32>",
    "%y = stablehlo.select %keep, %i, %j : tensor<i1>, tensor<i32>",
    "stablehlo.return %x, %y : tensor<f32>, tensor<i32>",
    arguments="%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>",
)
LESS = region(
    "%t = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "stablehlo.return %t : tensor<i1>",
    arguments="%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>",
)
ADD = region(
    "%t = stablehlo.add %p, %q : tensor<f32>",
    "stablehlo.return %t : tensor<f32>",
    arguments="%p: tensor<f32>, %q: tensor<f32>",
)
SECOND = region("stablehlo.return %q : tensor<f32>", arguments="%p: tensor<f32>, %q: tensor<f32>")
GATHER_DIMS = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
SCATTER_DIMS = (
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
)


def scattering(code: str) -> str:
    """Return a scatter of rows into a tensor sharded along its rows."""
    return program(
        f"%a: {sharded('8x3xf32', 'x', '')}, %i: {sharded('5x1xi32', '', '')}, %u: {sharded('5x3xf32', '', '')}",
        sharded("8x3xf32", "x", ""),
        '%0 = "stablehlo.scatter"(%a, %i, %u)',
        f"  <{{scatter_dimension_numbers = #stablehlo.scatter<{SCATTER_DIMS}>}}> {code}",
        "  : (tensor<8x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<8x3xf32>",
        "return %0 : tensor<8x3xf32>",
    )


PROGRAMS: dict[str, str] = {
    "dynamic_slice on a sharded dim": program(
        f"%a: {sharded('8x4xf32', 'x', '')}, %i: tensor<i32>, %j: tensor<i32>",
        sharded("5x4xf32", "", ""),
        "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [5, 4]",
        "  : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>",
        "return %0 : tensor<5x4xf32>",
    ),
    "dynamic_update_slice on a sharded dim": program(
        f"%a: {sharded('8x4xf32', 'x', '')}, %u: {sharded('3x4xf32', '', '')}, %i: tensor<i32>, %j: tensor<i32>",
        sharded("8x4xf32", "x", ""),
        "%0 = stablehlo.dynamic_update_slice %a, %u, %i, %j",
        "  : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>",
        "return %0 : tensor<8x4xf32>",
    ),
    "dynamic_update_slice of one element per shard": program(
        f"%a: {sharded('4xi8', 'x')}, %u: tensor<2xi8>, %i: tensor<i64>",
        sharded("4xi8", "x"),
        "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi8>, tensor<2xi8>, tensor<i64>) -> tensor<4xi8>",
        "return %0 : tensor<4xi8>",
    ),
    "maximum over devices": folding("maximum", "f32", "0xFF800000"),
    "minimum over devices": folding("minimum", "bf16", "0x7F80"),
    "sum over devices": folding("add", "f32", "-0.0"),
    "sum over devices from a number that is not known": program(
        f"%a: {sharded('8x3xf32', 'x', '')}, %b: tensor<f32>",
        sharded("3xf32", ""),
        "%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0]",
        "  : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>",
        "return %0 : tensor<3xf32>",
    ),
    "sum of complex numbers over devices": folding("add", "complex<f32>", "(-0.0, -0.0)"),
    "sum of integers over devices": folding("add", "i8", "100"),
    "product of integers over devices": folding("multiply", "i32", "3"),
    "bits over devices": folding("xor", "ui16", "65535"),
    "argmax over devices": program(
        f"%a: {sharded('8xf32', 'x')}",
        "tensor<f32>, tensor<i32>",
        "%n = stablehlo.iota dim = 0 : tensor<8xi32>",
        "%l = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        "%z = stablehlo.constant dense<0> : tensor<i32>",
        f'%0:2 = "stablehlo.reduce"(%a, %n, %l, %z) <{{dimensions = array<i64: 0>}}> {ARGMAX}',
        "  : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)",
        "return %0#0, %0#1 : tensor<f32>, tensor<i32>",
    ),
    "stable sort of a sharded dim": program(
        f"%a: {sharded('12xf32', 'x')}",
        f"{sharded('12xf32', 'x')}, {sharded('12xi32', 'x')}",
        "%n = stablehlo.iota dim = 0 : tensor<12xi32>",
        f'%0:2 = "stablehlo.sort"(%a, %n) <{{dimension = 0 : i64, is_stable = true}}> {LESS}',
        "  : (tensor<12xf32>, tensor<12xi32>) -> (tensor<12xf32>, tensor<12xi32>)",
        "return %0#0, %0#1 : tensor<12xf32>, tensor<12xi32>",
    ),
    "concatenate of one element per shard": program(
        f"%a: {sharded('4xf32', 'x')}, %b: {sharded('4xf32', 'x')}",
        sharded("8xf32", "x"),
        "%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>",
        "return %0 : tensor<8xf32>",
    ),
    "cumulative sum of one element per shard": program(
        f"%a: {sharded('4xf32', 'x')}",
        sharded("4xf32", "x"),
        "%c = stablehlo.constant dense<0.0> : tensor<f32>",
        '%0 = "stablehlo.reduce_window"(%a, %c) <{window_dimensions = array<i64: 4>,',
        f"  padding = dense<[[3, 0]]> : tensor<1x2xi64>}}> {ADD} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>",
        "return %0 : tensor<4xf32>",
    ),
    "roll of one element per shard": program(
        f"%a: {sharded('4xf32', 'x')}",
        sharded("4xf32", "x"),
        "%0 = stablehlo.slice %a [3:4] : (tensor<4xf32>) -> tensor<1xf32>",
        "%1 = stablehlo.slice %a [0:3] : (tensor<4xf32>) -> tensor<3xf32>",
        "%2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>",
        "return %2 : tensor<4xf32>",
    ),
    "gather from a sharded dim": program(
        f"%a: {sharded('8x3xf32', 'x', '')}, %i: {sharded('5x1xi32', '', '')}",
        sharded("5x3xf32", "", ""),
        f'%0 = "stablehlo.gather"(%a, %i) <{{dimension_numbers = #stablehlo.gather<{GATHER_DIMS}>,',
        "  slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>",
        "return %0 : tensor<5x3xf32>",
    ),
    "scatter that adds to a sharded dim": scattering(ADD),
    "scatter that overwrites a sharded dim": scattering(SECOND),
    "product with a sharded contracting dim": program(
        f"%a: {sharded('3x8xf32', '', 'x')}, %b: {sharded('8x2xf32', 'x', '')}",
        sharded("3x2xf32", "", ""),
        "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]",
        "  : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>",
        "return %0 : tensor<3x2xf32>",
    ),
    "zeros of either sign": program(
        f"%a: {sharded('8xf32', 'x')}, %b: {sharded('8xf32', '')}",
        f"{sharded('8xf32', 'x')}, {sharded('8xf32', 'x')}, {sharded('8xf32', 'x')}, {sharded('10xf32', 'x')}",
        "%0 = stablehlo.maximum %a, %b : tensor<8xf32>",
        "%1 = stablehlo.minimum %a, %b : tensor<8xf32>",
        "%2 = stablehlo.multiply %a, %b : tensor<8xf32>",
        "%c = stablehlo.constant dense<-0.0> : tensor<f32>",
        "%3 = stablehlo.pad %2, %c, low = [1], high = [1], interior = [0]",
        "  : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>",
        "return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<10xf32>",
    ),
    "empty tensors": program(
        f"%a: {sharded('0x4xf32', '', 'x')}, %b: {sharded('4x0xf32', 'x', '')}, %c: {sharded('8xf32', 'x')}",
        f"tensor<4xf32>, {sharded('4x4xf32', 'x', '')}, {sharded('4x4xf32', '', 'x')}, {sharded('0xf32', 'x')}",
        "%z = stablehlo.constant dense<1.5> : tensor<f32>",
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]",
        "  : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>",
        "%1 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0]",
        "  : (tensor<4x0xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>",
        "%2 = stablehlo.pad %a, %z, low = [1, 0], high = [3, 0], interior = [0, 0]",
        "  : (tensor<0x4xf32>, tensor<f32>) -> tensor<4x4xf32>",
        "%3 = stablehlo.slice %c [5:5] : (tensor<8xf32>) -> tensor<0xf32>",
        "return %0, %1, %2, %3 : tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<0xf32>",
    ),
    "a cache that a loop fills": program(
        f"%a: {sharded('8x2xf32', 'x', '')}, %u: tensor<3x2xf32>, %i: tensor<i32>, %n: tensor<i32>",
        sharded("8x2xf32", "x", ""),
        "%z = stablehlo.constant dense<0> : tensor<i32>",
        "%one = stablehlo.constant dense<1> : tensor<i32>",
        "%0:3 = stablehlo.while(%k = %z, %s = %i, %c = %a) : tensor<i32>, tensor<i32>, tensor<8x2xf32>",
        "cond {",
        "  %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %p : tensor<i1>",
        "} do {",
        "  %d = stablehlo.dynamic_update_slice %c, %u, %s, %z",
        "    : (tensor<8x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>",
        "  %t = stablehlo.add %s, %one : tensor<i32>",
        "  %m = stablehlo.add %k, %one : tensor<i32>",
        "  stablehlo.return %m, %t, %d : tensor<i32>, tensor<i32>, tensor<8x2xf32>",
        "}",
        "return %0#2 : tensor<8x2xf32>",
    ),
}


def on_both_axes(text: str, mesh: str) -> str:
    """Replace "x" by both axes on a mesh of two axes."""
    return text.replace('{"x"}', '{"x", "y"}') if '"y"' in mesh else text


def problems(name: str, mesh: str, seed: int) -> dict[str, list[str]]:
    """Return the differences by round of inputs."""
    program = Program.from_text(f"sdy.mesh @m = {mesh}\n{on_both_axes(PROGRAMS[name], mesh)}")
    return {
        each.name: [outcome.problem for outcome in each.comparisons if not outcome.agrees]
        for each in special_rounds(program.partition(), seed)
    }


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_partitioned_program_agrees_on_special_values(name: str, mesh: str) -> None:
    for seed in range(3):
        found = problems(name, mesh, seed)
        assert len(found) == 5
        assert not any(found.values()), found
