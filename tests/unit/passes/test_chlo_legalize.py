"""CHLO ops compute the same in the interpreter as the StableHLO ops that they expand to."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from support.execution.run_text import type_of
from support.random_ops.draft import ELEMENTS, tensor

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.arrays.element_types import Array, dtype_of
from sdy.interpreter.run import interpret
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.run import run_passes

UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bessel_i1e",
    "conj",
    "cosh",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "sinh",
    "square",
    "tan",
    "is_inf",
    "is_neg_inf",
    "is_pos_inf",
]
BINARY = ["next_after", "polygamma", "zeta"]
SMALL = [0.0, 1e-8, 0.3, 0.75, 0.99, 1.0, 1.5, 2.0, 3.0, 5.25, 7.5, 20.0, 80.0, 1e30, inf]
REALS = np.array([nan, *SMALL, *(-each for each in SMALL)])
FLOATS = {"bf16": 1e-2, "f16": 2e-3, "f32": 3e-7, "f64": 1e-13}


def both(line: str, results: str, **operands: Array) -> tuple[list[Array], list[Array]]:
    """Return the results of an op and of its expansion."""
    arguments = ", ".join(f"%{name}: {type_of(array)}" for name, array in operands.items())
    count = results.count("tensor")
    names = ", ".join(f"%r#{index}" for index in range(count)) if count > 1 else "%r"
    bound = f"%r:{count}" if count > 1 else "%r"
    text = f"func.func @main({arguments}) -> ({results}) {{\n  {bound} = {line}\n  return {names} : {results}\n}}"
    module, expanded = parse_module(text), parse_module(text)
    run_passes(make_context(), expanded, [ChloLegalizeToStablehloPass()])
    assert not any(op.name.startswith("chlo.") for op in expanded.walk())
    inputs = list(operands.values())
    return interpret(module, inputs), interpret(expanded, inputs)


def assert_close(expected: Array, found: Array, tolerance: float) -> None:
    assert expected.dtype == found.dtype
    if expected.dtype.kind in "bui":
        assert (expected == found).all()
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance * 1e-3)
    if wide is np.float64:
        assert (np.signbit(expected) == np.signbit(found))[~np.isnan(expected.astype(wide))].all()


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_reals(name: str, element: str) -> None:
    with np.errstate(over="ignore"):
        x = REALS.astype(dtype_of(ELEMENTS[element]))
    result = tensor(x.shape, "i1" if name.startswith("is_") else element)
    (expected,), (found,) = both(f"chlo.{name} %x : {type_of(x)} -> {result}", result, x=x)
    # The exponentials of these are rounded to the element type before they are added.
    looser = 50 if name in ("cosh", "sinh") else 1
    assert_close(expected, found, FLOATS[element] * looser)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_reals(name: str, element: str) -> None:
    first = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 2.5, nan, 0.0, -0.0, 1.0, 5.0, inf])
    second = np.array([0.5, 2.0, 1.5, 4.0, -3.0, 2.0, 1.0, -1.0, 1.0, 1.0, -2.0, 1.0])
    a, b = (array.astype(dtype_of(ELEMENTS[element])) for array in (first, second))
    result = type_of(a)
    (expected,), (found,) = both(f"chlo.{name} %a, %b : {result}, {result} -> {result}", result, a=a, b=b)
    assert_close(expected, found, FLOATS[element] * 10)


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cosh", "sinh", "square"])
def test_functions_of_complex_numbers(name: str) -> None:
    parts = np.array([-2.5, -0.4, 0.3, 1.7])
    z = (parts[:, None] + 1j * parts[None, :]).astype(np.complex64)
    result = type_of(z)
    (expected,), (found,) = both(f"chlo.{name} %z : {result} -> {result}", result, z=z)
    assert_close(expected, found, 2e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_upper_halves_of_products(dtype: type[np.integer]) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.min + 3, 0, 5, limits.max // 3, limits.max], dtype)
    b = a[::-1].copy()
    result = type_of(a)
    (expected,), (found,) = both(f"chlo.mulhi %a, %b : {result}, {result} -> {result}", result, a=a, b=b)
    assert (expected == found).all()


@pytest.mark.parametrize("name", ["broadcast_polygamma", "broadcast_zeta"])
def test_special_functions_of_broadcast_operands(name: str) -> None:
    a, b = np.array([[1.0, 2.0, 3.0]]).T + 1, np.array([0.5, 1.25, 7.5])
    line = f'"chlo.{name}"(%a, %b) : ({type_of(a)}, {type_of(b)}) -> tensor<3x3xf64>'
    (expected,), (found,) = both(line, "tensor<3x3xf64>", a=a, b=b)
    assert_close(expected, found, 1e-12)


def test_operands_are_broadcast() -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([10, 20], np.float32)
    line = f"chlo.broadcast_subtract %a, %b {{broadcast_dimensions = array<i64: 0>}} : ({type_of(a)}, {type_of(b)}) -> {type_of(a)}"  # noqa: E501
    (expected,), (found,) = both(line, type_of(a), a=a, b=b)
    assert (expected == a - b[:, None]).all()
    assert (found == expected).all()


@pytest.mark.parametrize("values", [[3.0, nan, -0.0, 0.0, inf, 3.0], [1.0, 1.0, 2.0, 2.0, -inf, nan]])
def test_the_largest_come_first(values: list[float]) -> None:
    x = np.array([values, values[::-1]], np.float32)
    results = "tensor<2x4xf32>, tensor<2x4xi32>"
    expected, found = both(f"chlo.top_k(%x, k = 4) : {type_of(x)} -> ({results})", results, x=x)
    np.testing.assert_array_equal(expected[0], found[0])
    assert (expected[1] == found[1]).all()


def test_the_sharding_stays_with_the_result() -> None:
    sharding = '#sdy.sharding_per_value<[<@m, [{"x"}]>]>'
    body = (
        f"%0 = chlo.erf %a {{sdy.sharding = {sharding}}} : tensor<4xf32> -> tensor<4xf32>\n  return %0 : tensor<4xf32>"
    )
    text = f'sdy.mesh @m = <["x"=2]>\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n  {body}\n}}'
    module = parse_module(text)
    ChloLegalizeToStablehloPass().apply(make_context(), module)
    verify_module(module)
    sharded = [op for op in module.walk() if "sdy.sharding" in op.attributes]
    assert [op.name for op in sharded] == ["stablehlo.convert"]
    assert next(iter(sharded[0].results[0].uses)).operation.name == "func.return"


def test_dynamic_shapes_are_rejected() -> None:
    text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  %0 = chlo.erf %a : tensor<?xf32> -> tensor<?xf32>\n  return %0 : tensor<?xf32>\n}"  # noqa: E501
    with pytest.raises(SdyError) as caught:
        ChloLegalizeToStablehloPass().apply(make_context(), parse_module(text))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-T116"
    assert diagnostic.span is not None
    assert diagnostic.span.line == 2
