"""Draw programs of one element-wise op."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdy.interpreter.arrays.element_types import bit_width, dtype_of
from support.random_ops.draft import (
    ALL,
    COMPLEX,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    Draft,
    array,
    region,
    tensor,
)


def unary(draft: Draft) -> None:
    op, elements = UNARY[int(draft.random.integers(len(UNARY)))]
    element, shape = draft.pick(*elements), draft.shape()
    if op in ROUNDING and element in NARROW_RANGE:
        element = draft.replaced("f8E4M3")
    if op == "logistic" and element in WITHOUT_INFINITY:
        element = draft.replaced("f8E5M2")
    operand = draft.tensor(shape, element)
    kind = tensor(shape, element)
    result = {"abs": element.removeprefix("complex<").removesuffix(">"), "is_finite": "i1"}.get(op, element)
    is_rounded = element in COMPLEX and op in ("abs", "sign")
    draft.ulps = 1 if op == "sqrt" or is_rounded else 0 if op in EXACT else 4
    draft.op(f'"stablehlo.{op}"({operand}) : ({kind}) -> {tensor(shape, result)}', tensor(shape, result))


UNARY: tuple[tuple[str, Sequence[str]], ...] = (
    ("abs", SIGNED + FLOATS + COMPLEX),
    ("cbrt", FLOATS + COMPLEX),
    ("ceil", FLOATS),
    ("cosine", FLOATS + COMPLEX),
    ("count_leading_zeros", INTEGERS),
    ("exponential", FLOATS + COMPLEX),
    ("exponential_minus_one", FLOATS + COMPLEX),
    ("floor", FLOATS),
    ("is_finite", FLOATS),
    ("log", FLOATS + COMPLEX),
    ("log_plus_one", FLOATS + COMPLEX),
    ("logistic", FLOATS + COMPLEX),
    ("negate", SIGNED + FLOATS + COMPLEX),
    ("not", ("i1", *INTEGERS)),
    ("popcnt", INTEGERS),
    ("round_nearest_afz", FLOATS),
    ("round_nearest_even", FLOATS),
    ("rsqrt", FLOATS + COMPLEX),
    ("sign", SIGNED + FLOATS + COMPLEX),
    ("sine", FLOATS + COMPLEX),
    ("sqrt", FLOATS + COMPLEX),
    ("tan", FLOATS + COMPLEX),
    ("tanh", FLOATS + COMPLEX),
)


EXACT = (
    *("abs", "ceil", "count_leading_zeros", "floor", "is_finite", "negate", "not", "popcnt"),
    *("round_nearest_afz", "round_nearest_even", "sign"),
)
ROUNDING = ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
# The reference rounds by adding a number that these formats do not hold.
NARROW_RANGE = ("f8E3M4", "f6E2M3FN")
# There, the exponential that the reference takes overflows to NaN.
WITHOUT_INFINITY = ("f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ")


def binary(draft: Draft) -> None:
    op, elements = BINARY[int(draft.random.integers(len(BINARY)))]
    element, shape = draft.pick(*elements), draft.shape()
    kind = tensor(shape, element)
    operands = ", ".join(operands_of(draft, op, element, shape, shape))
    draft.op(f'"stablehlo.{op}"({operands}) : ({kind}, {kind}) -> {kind}', kind)


def operands_of(draft: Draft, op: str, element: str, *shapes: Sequence[int]) -> list[str]:
    """Add two constants for which the reference can compute `op`; set the required accuracy of the result."""
    left, right = (draft.values(shape, element) for shape in shapes)
    if op in ("divide", "remainder") and element in INTEGERS:
        # The reference divides as the processor does, which stops at these.
        bad = (right == 0) | (right == np.array(-1).astype(right.dtype))
        right = np.where(bad, draft.replaced(np.array(1).astype(right.dtype), bool(bad.any())), right)
    if op == "power" and element in SIGNED:
        right = draft.random.integers(0, 2 if element == "i2" else 8, right.shape).astype(right.dtype)
    draft.ulps = 0 if element in ("i1", *INTEGERS) or op in ("maximum", "minimum", "remainder") else 1
    draft.ulps = 4 if op in ("atan2", "power") and element not in INTEGERS else draft.ulps
    return [draft.constant(side, element) for side in (left, right)]


BINARY: tuple[tuple[str, Sequence[str]], ...] = (
    ("add", ("i1", *NUMBERS)),
    ("and", ("i1", *INTEGERS)),
    ("atan2", FLOATS + COMPLEX),
    ("divide", NUMBERS),
    ("maximum", ("i1", *NUMBERS)),
    ("minimum", ("i1", *NUMBERS)),
    ("multiply", ("i1", *NUMBERS)),
    ("or", ("i1", *INTEGERS)),
    ("power", NUMBERS),
    ("remainder", INTEGERS + FLOATS),
    ("shift_left", INTEGERS),
    ("shift_right_arithmetic", INTEGERS),
    ("shift_right_logical", INTEGERS),
    ("subtract", NUMBERS),
    ("xor", ("i1", *INTEGERS)),
)


def compare(draft: Draft) -> None:
    element, shape = draft.pick("i1", *INTEGERS, *FLOATS, *COMPLEX), draft.shape()
    total = element in FLOATS and draft.random.random() < 0.5
    if element in (*FLOATS, *COMPLEX):
        order = ", TOTALORDER" if total else ", FLOAT"
    else:
        order = ", SIGNED" if element in SIGNED else ", UNSIGNED"
    left = draft.values(shape, element)
    right = np.where(draft.random.random(shape) < 0.3, left, draft.values(shape, element))
    if total:
        # The reference compares as if the order were not total, which shows at these.
        left, right = (np.where(np.isnan(side) | (side == 0), np.ones((), side.dtype), side) for side in (left, right))
    kind = tensor(shape, element)
    direction = draft.pick("EQ", "NE") if element in COMPLEX else draft.pick("EQ", "NE", "LT", "LE", "GT", "GE")
    operands = f"{draft.constant(left, element)}, {draft.constant(right, element)}"
    result = tensor(shape, "i1")
    draft.op(f"stablehlo.compare {direction}, {operands}{order} : ({kind}, {kind}) -> {result}", result)


def convert(draft: Draft) -> None:
    source, target = draft.pick(*ALL), draft.pick(*ALL)
    shape = draft.shape()
    draft.ulps = 1
    values = draft.values(shape, source)
    if target == "f8E8M0FNU":
        # Its only numbers are positive, and the reference makes numbers of the others too.
        wide = values.astype(np.complex128).real
        bad = ~(np.isfinite(wide) & (wide > 0))
        values = np.where(bad, draft.replaced(np.array(1).astype(values.dtype), bool(bad.any())), values)
    operand, result = draft.constant(values, source), tensor(shape, target)
    draft.op(f"stablehlo.convert {operand} : ({tensor(shape, source)}) -> {result}", result)


def bitcast(draft: Draft) -> None:
    source, target = draft.pick(*BIT_WIDTHS), draft.pick(*BIT_WIDTHS)
    shape = draft.shape(0, 3)
    ratio = BIT_WIDTHS[target] // BIT_WIDTHS[source]
    operand_shape = (*shape, ratio) if ratio > 1 else shape
    back = BIT_WIDTHS[source] // BIT_WIDTHS[target]
    result = tensor((*shape, back) if back > 1 else shape, target)
    operand = draft.tensor(operand_shape, source)
    draft.op(f"stablehlo.bitcast_convert {operand} : ({tensor(operand_shape, source)}) -> {result}", result)


BIT_WIDTHS = {
    name: bit_width(dtype_of(element))
    for name, element in ELEMENTS.items()
    if name not in ("i1", "f6E2M3FN", "f6E3M2FN", *COMPLEX)
}


def complex_numbers(draft: Draft) -> None:
    element, shape = draft.pick("f32", "f64"), draft.shape()
    part, complex_type = tensor(shape, element), tensor(shape, f"complex<{element}>")
    if draft.random.random() < 0.5:
        operands = f"{draft.tensor(shape, element)}, {draft.tensor(shape, element)}"
        draft.op(f"stablehlo.complex {operands} : {complex_type}", complex_type)
        return
    op, operand = draft.pick("real", "imag"), draft.tensor(shape, draft.pick(element, f"complex<{element}>"))
    draft.op(f"stablehlo.{op} {operand} : ({draft.types[operand]}) -> {part}", part)


def mapped(draft: Draft) -> None:
    element, shape = draft.pick(*NUMBERS), draft.shape()
    count, kind = draft.size(1, 4), tensor(shape, element)
    operands = [draft.numbers(shape, element) for _ in range(count)]
    body = "stablehlo.negate %a" if count == 1 and element not in UNSIGNED else "stablehlo.maximum %a, %a"
    body = body if count == 1 else f"stablehlo.subtract %a, %{'abc'[count - 1]}"
    types = f"({', '.join([kind] * count)}) -> {kind}"
    code = region(element, body, count=count)
    dims = array(range(len(shape)))
    draft.op(f'"stablehlo.map"({", ".join(operands)}) <{{dimensions = {dims}}}> {code} : {types}', kind)


def select_and_clamp(draft: Draft) -> None:
    element, shape = draft.pick(*ALL), draft.shape()
    kind = tensor(shape, element)
    scalar = draft.random.random() < 0.5
    small = () if scalar else shape
    if draft.random.random() < 0.5:
        operands = f"{draft.tensor(small, 'i1')}, {draft.tensor(shape, element)}, {draft.tensor(shape, element)}"
        draft.op(f'"stablehlo.select"({operands}) : ({tensor(small, "i1")}, {kind}, {kind}) -> {kind}', kind)
        return
    bounds = [draft.tensor(small, element) for _ in range(2)]
    bound = tensor(small, element)
    operands = f"{bounds[0]}, {draft.tensor(shape, element)}, {bounds[1]}"
    draft.op(f'"stablehlo.clamp"({operands}) : ({bound}, {kind}, {bound}) -> {kind}', kind)


def reduce_precision(draft: Draft) -> None:
    # Of narrower floats, the reference takes bit fields for those of a wider format: subnormal numbers become 0.
    element, shape = draft.pick("f16", "bf16", "f32", "f64"), draft.shape()
    kind = tensor(shape, element)
    exponent, mantissa = draft.size(2, 9), draft.size(1, 12)
    text = f"stablehlo.reduce_precision {draft.tensor(shape, element)}, format = e{exponent}m{mantissa} : {kind}"
    draft.op(text, kind)
