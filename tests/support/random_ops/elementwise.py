"""Programs of one elementwise op."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdy.interpreter.element_types import dtype_of
from support.random_ops.draft import (
    COMPLEX,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    Draft,
    tensor,
)


def unary(draft: Draft) -> None:
    op, elements = UNARY[int(draft.random.integers(len(UNARY)))]
    element, shape = draft.pick(*elements), draft.shape()
    operand = draft.tensor(shape, element)
    kind = tensor(shape, element)
    result = {"abs": element.removeprefix("complex<").removesuffix(">"), "is_finite": "i1"}.get(op, element)
    draft.ulps = 2 if element in COMPLEX else 1
    draft.closeness = 1e-6 if element in COMPLEX else 0.0
    draft.op(f'"stablehlo.{op}"({operand}) : ({kind}) -> {tensor(shape, result)}', tensor(shape, result))


UNARY: tuple[tuple[str, Sequence[str]], ...] = (
    ("abs", SIGNED + FLOATS + COMPLEX),
    ("cbrt", FLOATS),
    ("ceil", FLOATS),
    ("cosine", FLOATS + COMPLEX),
    ("count_leading_zeros", INTEGERS),
    ("exponential", FLOATS + COMPLEX),
    ("exponential_minus_one", FLOATS),
    ("floor", FLOATS),
    ("is_finite", FLOATS),
    ("log", FLOATS + COMPLEX),
    ("log_plus_one", FLOATS),
    ("logistic", ("f16", "bf16", "f32", "f64", *COMPLEX)),
    ("negate", SIGNED + FLOATS + COMPLEX),
    ("not", ("i1", *INTEGERS)),
    ("popcnt", INTEGERS),
    ("round_nearest_afz", FLOATS),
    ("round_nearest_even", FLOATS),
    ("rsqrt", FLOATS + COMPLEX),
    ("sign", SIGNED + FLOATS + COMPLEX),
    ("sine", FLOATS + COMPLEX),
    ("sqrt", FLOATS + COMPLEX),
    ("tan", FLOATS),
    ("tanh", FLOATS + COMPLEX),
)


def binary(draft: Draft) -> None:
    op, elements = BINARY[int(draft.random.integers(len(BINARY)))]
    element, shape = draft.pick(*elements), draft.shape()
    left, right = draft.values(shape, element), draft.values(shape, element)
    if op in ("divide", "remainder") and element in INTEGERS:
        # The reference divides as the processor does, which stops at these.
        bad = (right == 0) | (right == np.invert(np.zeros((), right.dtype)))
        right = np.where(bad, np.full((), 3, right.dtype), right)
    if op == "power" and element in SIGNED:
        right = draft.random.integers(0, 8, shape).astype(right.dtype)
    kind = tensor(shape, element)
    draft.closeness = 1e-5 if element in COMPLEX else 0.0
    operands = f"{draft.constant(left, element)}, {draft.constant(right, element)}"
    draft.op(f'"stablehlo.{op}"({operands}) : ({kind}, {kind}) -> {kind}', kind)


BINARY: tuple[tuple[str, Sequence[str]], ...] = (
    ("add", ("i1", *NUMBERS)),
    ("and", ("i1", *INTEGERS)),
    ("atan2", FLOATS),
    ("divide", NUMBERS),
    ("maximum", ("i1", *INTEGERS, *FLOATS)),
    ("minimum", ("i1", *INTEGERS, *FLOATS)),
    ("multiply", ("i1", *NUMBERS)),
    ("or", ("i1", *INTEGERS)),
    ("power", INTEGERS + FLOATS),
    ("remainder", INTEGERS + FLOATS),
    ("shift_left", INTEGERS),
    ("shift_right_arithmetic", INTEGERS),
    ("shift_right_logical", INTEGERS),
    ("subtract", NUMBERS),
    ("xor", ("i1", *INTEGERS)),
)


def compare(draft: Draft) -> None:
    element, shape = draft.pick("i1", *INTEGERS, *FLOATS), draft.shape()
    total = element in FLOATS and draft.random.random() < 0.5
    if element in FLOATS:
        order = ", TOTALORDER" if total else ", FLOAT"
    else:
        order = ", SIGNED" if element in SIGNED else ", UNSIGNED"
    left = draft.values(shape, element)
    right = np.where(draft.random.random(shape) < 0.3, left, draft.values(shape, element))
    if total:
        # The reference compares as if the order were not total, which shows at these.
        left, right = (np.where(np.isnan(side) | (side == 0), np.ones((), side.dtype), side) for side in (left, right))
    kind = tensor(shape, element)
    direction = draft.pick("EQ", "NE", "LT", "LE", "GT", "GE")
    operands = f"{draft.constant(left, element)}, {draft.constant(right, element)}"
    result = tensor(shape, "i1")
    draft.op(f"stablehlo.compare {direction}, {operands}{order} : ({kind}, {kind}) -> {result}", result)


def convert(draft: Draft) -> None:
    source, target = draft.pick("i1", *NUMBERS), draft.pick("i1", *NUMBERS)
    shape = draft.shape()
    operand, result = draft.tensor(shape, source), tensor(shape, target)
    draft.op(f"stablehlo.convert {operand} : ({tensor(shape, source)}) -> {result}", result)


def bitcast(draft: Draft) -> None:
    source, target = draft.pick("i8", "ui16", "i32", "ui64"), draft.pick("ui8", "i16", "ui32", "i64", "bf16", "f16")
    widths = {name: dtype_of(ELEMENTS[name]).itemsize for name in (source, target)}
    shape = draft.shape(0, 3)
    ratio = widths[target] // widths[source]
    given = (*shape, ratio) if ratio > 1 else shape
    back = widths[source] // widths[target]
    result = tensor((*shape, back) if back > 1 else shape, target)
    operand = draft.tensor(given, source)
    draft.op(f"stablehlo.bitcast_convert {operand} : ({tensor(given, source)}) -> {result}", result)


def select_and_clamp(draft: Draft) -> None:
    element, shape = draft.pick("i8", "ui32", "f32", "bf16"), draft.shape()
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
    element, shape = draft.pick("f16", "bf16", "f32", "f64"), draft.shape()
    kind = tensor(shape, element)
    exponent, mantissa = draft.size(2, 9), draft.size(1, 12)
    text = f"stablehlo.reduce_precision {draft.tensor(shape, element)}, format = e{exponent}m{mantissa} : {kind}"
    draft.op(text, kind)
