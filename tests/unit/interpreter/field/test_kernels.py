"""Each op that computes floats has a form in a finite field, which has the laws that a partition relies on."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import COMPLEX, REAL, equal_elements, is_field, of_parts, parts_of
from sdy.interpreter.field.functions import VALUES
from sdy.interpreter.field.numbers import field_of_draw
from sdy.interpreter.ops import elementwise
from sdy.interpreter.run import RunSettings, interpret
from sdy.passes.rewriting.field_types import with_field_types

FIELD = field_of_draw(np.random.default_rng(0))


def numbers(*values: float) -> Array:
    return of_parts(FIELD.of_floats(np.array(values, np.float64)))


def drawn(*shape: int, seed: int = 0) -> Array:
    half = FIELD.prime // 2
    return of_parts(np.random.default_rng(seed).integers(-half, half + 1, shape).astype(np.float64))


def run(text: str, *inputs: Array) -> list[Array]:
    return interpret(with_field_types(parse_module(text)), inputs, settings=RunSettings(field=FIELD))


def unary(op: str, kind: str, result: str | None = None) -> str:
    result = result or kind
    return f"func.func @main(%a: {kind}) -> {result} {{ %0 = {op} %a : ({kind}) -> {result} return %0 : {result} }}"


def binary(op: str, kind: str) -> str:
    return f"func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{ %0 = {op} %a, %b : {kind} return %0 : {kind} }}"


def test_functions_without_arithmetic_are_different_functions_of_their_elements() -> None:
    array, names = drawn(5), ("cbrt", "exponential", "logistic", "tan")
    texts = [unary(f"stablehlo.{name}", "tensor<5xf32>") for name in names]
    found = [run(text, array)[0] for text in texts]
    turned = [run(text, array[::-1])[0] for text in texts]
    assert all(equal_elements(one, other[::-1]).all() for one, other in zip(found, turned, strict=True))
    assert len({parts_of(each)[0].tobytes() for each in found}) == len(names)


@pytest.mark.parametrize("name", VALUES)
def test_functions_have_the_values_that_masks_rely_on(name: str) -> None:
    dialect = "stablehlo" if f"stablehlo.{name}" in {op.name for op in elementwise.FUNCTIONS} else "chlo"
    operands = list(VALUES[name])
    kind = f"tensor<{len(operands)}xf32>"
    form = f"{kind} -> {kind}" if dialect == "chlo" else kind
    text = f"func.func @main(%a: {kind}) -> {kind} {{ %0 = {dialect}.{name} %a : {form} return %0 : {kind} }}"
    (found,) = run(text, numbers(*operands))
    assert equal_elements(found, numbers(*VALUES[name].values())).all()


def test_a_sum_does_not_depend_on_its_order() -> None:
    text = """
    func.func @main(%a: tensor<100xf32>) -> tensor<f32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
          : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    array = drawn(100)
    one, other = run(text, array), run(text, array[::-1].copy())
    assert equal_elements(one[0], other[0]).all()


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_reductions_by_each_op_are_those_of_its_parts(op: str) -> None:
    def reduced(count: int) -> str:
        kind = f"tensor<{count}x3xf32>"
        return f"""
        func.func @main(%a: {kind}, %z: tensor<f32>) -> tensor<3xf32> {{
          %0 = stablehlo.reduce(%a init: %z) applies stablehlo.{op} across dimensions = [0]
              : ({kind}, tensor<f32>) -> tensor<3xf32>
          return %0 : tensor<3xf32>
        }}"""

    array, start = drawn(7, 3), drawn(1, seed=3)[0]
    (whole,) = run(reduced(7), array, np.asarray(start))
    (first,) = run(reduced(4), array[:4], np.asarray(start))
    total = first
    for row in array[4:]:
        (total,) = run(binary(f"stablehlo.{op}", "tensor<3xf32>"), total, row)
    assert equal_elements(whole, total).all()


def test_comparisons_follow_the_usual_order_of_small_numbers() -> None:
    for direction, expected in (("LT", [1, 0, 0, 0]), ("GE", [0, 1, 1, 0]), ("EQ", [0, 1, 0, 0]), ("NE", [1, 0, 1, 1])):
        text = f"""
        func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xi1> {{
          %0 = stablehlo.compare {direction}, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
          return %0 : tensor<4xi1>
        }}"""
        (found,) = run(text, numbers(-1, 0.5, 3, nan), numbers(1, 0.5, -inf, nan))
        assert found.astype(int).tolist() == expected, direction


@pytest.mark.parametrize(
    ("op", "values", "expected"),
    [
        ("abs", (-1.5, 2, 0), (1.5, 2, 0)),
        ("sign", (-1.5, 2, 0), (-1, 1, 0)),
        ("floor", (-1.5, 2.25, 0), (-2, 2, 0)),
        ("ceil", (-1.5, 2.25, 0), (-1, 3, 0)),
        ("round_nearest_even", (0.5, 1.5, -2.5), (0, 2, -2)),
        ("round_nearest_afz", (0.5, 1.5, -2.5), (1, 2, -3)),
        ("negate", (0, 1, -2), (0, -1, 2)),
    ],
)
def test_functions_that_round_see_small_numbers(
    op: str, values: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    kind = "tensor<3xf32>"
    text = f"func.func @main(%a: {kind}) -> {kind} {{ %0 = stablehlo.{op} %a : {kind} return %0 : {kind} }}"
    (found,) = run(text, numbers(*values))
    assert equal_elements(found, numbers(*expected)).all()


def test_powers() -> None:
    text = binary("stablehlo.power", "tensor<6xf32>")
    base = drawn(6)
    (found,) = run(text, base, numbers(0, 1, 2, 3, -1, 0.7))
    part = parts_of(base)[0]
    assert parts_of(found)[0][:3].tolist() == [1.0, part[1], float(FIELD.multiplied(part[2], part[2]))]
    assert float(FIELD.multiplied(parts_of(found)[0][4], part[4])) == 1.0


@pytest.mark.parametrize(("result", "expected"), [("i32", [-1, 2, 0]), ("i1", [1, 1, 0]), ("ui8", [0, 2, 0])])
def test_numbers_become_integers_as_floats_do(result: str, expected: list[int]) -> None:
    (found,) = run(unary("stablehlo.convert", "tensor<3xf32>", f"tensor<3x{result}>"), numbers(-1.5, 2.75, 0))
    assert found.astype(int).tolist() == expected


def test_integers_and_bits_become_numbers() -> None:
    (found,) = run(unary("stablehlo.convert", "tensor<2xi32>", "tensor<2xbf16>"), np.array([-3, 7], np.int32))
    assert equal_elements(found, numbers(-3, 7)).all()
    bits: Array = np.array([1.5, 0.1], np.float32).view(np.int32)
    (found,) = run(unary("stablehlo.bitcast_convert", "tensor<2xi32>", "tensor<2xf32>"), bits)
    assert equal_elements(found, numbers(1.5, float(np.float32(0.1)))).all()


def complex_numbers(*values: complex) -> Array:
    parts = ([value.real for value in values], [value.imag for value in values])
    return of_parts(*(FIELD.of_floats(np.array(part, np.float64)) for part in parts))


def test_complex_arithmetic() -> None:
    kind = "tensor<2xcomplex<f32>>"
    for op, expected in (("multiply", (-5 + 10j, 6j)), ("add", (4 + 6j, 2 + 3j)), ("subtract", (-2 - 2j, 2 - 3j))):
        (found,) = run(binary(f"stablehlo.{op}", kind), complex_numbers(1 + 2j, 2), complex_numbers(3 + 4j, 3j))
        assert found.dtype == COMPLEX
        assert equal_elements(found, complex_numbers(*expected)).all(), op
    quotient = run(binary("stablehlo.divide", kind), complex_numbers(-5 + 10j, 6j), complex_numbers(3 + 4j, 3j))[0]
    assert equal_elements(quotient, complex_numbers(1 + 2j, 2)).all()


def fourier(kind: str, length: int, operand: str, result: str) -> str:
    return f"""
    func.func @main(%a: {operand}) -> {result} {{
      %0 = stablehlo.fft %a, type = {kind}, length = [{length}] : ({operand}) -> {result}
      return %0 : {result}
    }}"""


@pytest.mark.parametrize(
    ("kind", "operand", "result"),
    [
        ("FFT", "complex<f32>", "6xcomplex<f32>"),
        ("IFFT", "complex<f32>", "6xcomplex<f32>"),
        ("RFFT", "f32", "4xcomplex<f32>"),
    ],
)
def test_transforms_are_linear(kind: str, operand: str, result: str) -> None:
    text = fourier(kind, 6, f"tensor<6x{operand}>", f"tensor<{result}>")
    parts = 2 if "complex" in operand else 1
    one, other = (of_parts(*(parts_of(drawn(6, seed=seed + part))[0] for part in range(parts))) for seed in (0, 2))
    total = of_parts(*(FIELD.reduced(a + b) for a, b in zip(parts_of(one), parts_of(other), strict=True)))
    results = [run(text, each)[0] for each in (one, other, total)]
    sums = (FIELD.reduced(a + b) for a, b in zip(*map(parts_of, results[:2]), strict=True))
    assert equal_elements(results[2], of_parts(*sums)).all()


def test_sorting_and_the_largest_elements() -> None:
    text = """
    func.func @main(%a: tensor<5xf32>) -> (tensor<5xf32>, tensor<2xf32>, tensor<2xi32>) {
      %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<5xf32>) -> tensor<5xf32>
      %values, %indices = chlo.top_k(%a, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)
      return %0, %values, %indices : tensor<5xf32>, tensor<2xf32>, tensor<2xi32>
    }"""
    ordered, values, indices = run(text, numbers(2, -1, 0.5, 7, -inf))
    assert equal_elements(ordered, numbers(-inf, -1, 0.5, 2, 7)).all()
    assert equal_elements(values, numbers(7, 2)).all()
    assert indices.tolist() == [3, 0]


def test_a_loop_that_numbers_decide_ends() -> None:
    text = """
    func.func @main(%a: tensor<f32>, %n: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0:2 = stablehlo.while(%x = %a, %i = %n) : tensor<f32>, tensor<i32>
      cond {
        %q = stablehlo.compare NE, %x, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %t = stablehlo.not %q : tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %x, %j : tensor<f32>, tensor<i32>
      }
      return %0#0, %0#1 : tensor<f32>, tensor<i32>
    }"""
    (_, count) = run(text, drawn(1)[0], np.array(0, np.int32))
    assert int(count) <= 40


def test_factorizations_depend_on_all_elements_of_their_matrix_only() -> None:
    text = (
        unary("stablehlo.cholesky", "tensor<2x3x3xf32>")
        .replace("%a :", "%a, lower = true :")
        .replace("(tensor<2x3x3xf32>) -> ", "")
    )
    matrices = drawn(2, 3, 3)
    (found,) = run(text, matrices)
    changed = matrices.copy()
    changed[0, 2, 1] = drawn(1, seed=9)[0]
    (other,) = run(text, changed)
    same = equal_elements(found, other)
    assert same[1].all()
    assert not same[0].any()


@pytest.mark.parametrize("shape", [(2, 0, 0), (0, 3, 3)])
def test_factorizations_of_matrices_without_elements_have_none(shape: tuple[int, int, int]) -> None:
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"func.func @main(%a: {kind}) -> {kind} {{ %0 = stablehlo.cholesky %a : {kind} return %0 : {kind} }}"
    (found,) = run(text, drawn(*shape))
    assert found.shape == shape


def test_triangular_solve_is_exact() -> None:
    text = """
    func.func @main(%a: tensor<3x3xf32>, %x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
      %0 = "stablehlo.triangular_solve"(%a, %x) <{left_side = true, lower = true, unit_diagonal = false,
          transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
      %1 = stablehlo.dot %a, %0 : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
      return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
    }"""
    matrix = np.where(np.tri(3, dtype=bool), drawn(3, 3), np.zeros((), REAL))
    right = drawn(3, 2, seed=5)
    _, product = run(text, matrix, right)
    assert equal_elements(product, right).all()


def test_random_numbers_are_numbers_of_the_field() -> None:
    text = """
    func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
      %s = stablehlo.constant dense<4> : tensor<1xi64>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM
          : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    (found,) = run(text, numbers(0)[0], numbers(1)[0])
    assert is_field(found.dtype)
    assert len(np.unique(parts_of(found)[0])) == 4


def test_a_batch_norm_is_its_formula() -> None:
    text = """
    func.func @main(%a: tensor<4x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
      %0, %m, %v = "stablehlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.5 : f32, feature_index = 1 : i64}>
          : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
      %1 = "stablehlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.5 : f32, feature_index = 1 : i64}>
          : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
      return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
    }"""
    training, inference = run(text, drawn(4, 3), drawn(3, seed=1), drawn(3, seed=2))
    assert equal_elements(training, inference).all()
