"""Draw programs of one op that folds elements: reductions, windows, products, linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import dtype_of
from support.random_ops.draft import (
    COMPLEX,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Draft,
    array,
    region,
    tensor,
)

Numbers = NDArray[np.complex128]


def dot_general(draft: Draft) -> None:
    element = draft.pick("i1", *NUMBERS)
    batch, left, right = (list(draft.shape(0, 3)) for _ in range(3))
    summed = list(draft.filled_shape(0, 3))  # the reference stops at sums of nothing
    orders = [draft.random.permutation(len(batch) + len(free) + len(summed)) for free in (left, right)]
    names: list[str] = []
    shapes: list[str] = []
    dims: list[tuple[list[int], list[int]]] = []
    for order, free in zip(orders, (left, right), strict=True):
        sizes = [*batch, *summed, *free]
        shape = [sizes[int(dim)] for dim in order]
        position_of = {int(dim): index for index, dim in enumerate(order)}
        names.append(draft.numbers(shape, element))
        shapes.append(tensor(shape, element))
        # Free dims come out in the order in which the operand has them.
        free[:] = [sizes[int(dim)] for dim in order if dim >= len(batch) + len(summed)]
        batch_dims = [position_of[dim] for dim in range(len(batch))]
        dims.append((batch_dims, [position_of[len(batch) + dim] for dim in range(len(summed))]))
    result = tensor([*batch, *left, *right], _wider(draft, element))
    draft.adds(prod(summed), element, *names)
    text = f"batching_dims = {dims[0][0]} x {dims[1][0]}, contracting_dims = {dims[0][1]} x {dims[1][1]}"
    draft.op(f"stablehlo.dot_general {names[0]}, {names[1]}, {text} : ({', '.join(shapes)}) -> {result}", result)


def _wider(draft: Draft, element: str) -> str:
    """Return the element type of a product: that of its operands, or sometimes a wider one.

    Of convolutions, the reference computes wider results in the type of the factors.
    """
    return WIDER.get(element, element) if draft.random.random() < 0.3 else element


WIDER = {"i4": "i32", "i8": "i32", "ui8": "ui32", "f8E4M3FN": "f16", "f8E5M2": "f32", "bf16": "f32", "f32": "f64"}


def reduce(draft: Draft) -> None:
    op, element = draft.pick("add", "multiply", "maximum", "minimum"), draft.pick(*NUMBERS)
    if draft.random.random() < 0.2:
        op, element = draft.pick("and", "or", "xor"), draft.pick("i1", *INTEGERS)
    shape = draft.shape(1, 4)
    dims = [dim for dim in range(len(shape)) if draft.random.random() < 0.6] or [0]
    result = tensor([size for dim, size in enumerate(shape) if dim not in dims], element)
    operands = _folded(draft, op, element, prod(shape[dim] for dim in dims), shape)
    body = f"stablehlo.{op} %a, %b"
    types = f"({tensor(shape, element)}, {tensor((), element)}) -> {result}"
    draft.op(
        f'"stablehlo.reduce"({operands}) <{{dimensions = {array(dims)}}}> {region(element, body)} : {types}', result
    )


def _folded(draft: Draft, op: str, element: str, count: int, shape: Sequence[int]) -> str:
    """Add an operand of which `op` folds `terms` elements at a time, and its init value."""
    operand, init = draft.numbers(shape, element), draft.numbers((), element)
    if op == "add":
        draft.adds(count + 1, element, operand, init)
    elif op == "multiply" and element in (*FLOATS, *COMPLEX):
        draft.ulps = count + 1
    return f"{operand}, {init}"


def argmax(draft: Draft) -> None:
    size = draft.size(1, 9)
    kind, scalar, index = tensor((size,), "i8"), "tensor<i8>", "tensor<i32>"
    values = draft.constant(draft.random.integers(-2, 3, (size,)).astype(np.int8), "i8")
    numbers = draft.constant(np.arange(size, dtype=np.int32), "i32")
    low, zero = draft.constant(np.array(-128, np.int8), "i8"), draft.constant(np.array(0, np.int32), "i32")
    body = f"""({{
  ^bb0(%v: {scalar}, %i: {index}, %w: {scalar}, %j: {index}):
    %gt = stablehlo.compare GT, %v, %w : ({scalar}, {scalar}) -> tensor<i1>
    %eq = stablehlo.compare EQ, %v, %w : ({scalar}, {scalar}) -> tensor<i1>
    %first = stablehlo.compare LT, %i, %j : ({index}, {index}) -> tensor<i1>
    %tie = stablehlo.and %eq, %first : tensor<i1>
    %keep = stablehlo.or %gt, %tie : tensor<i1>
    %x = stablehlo.select %keep, %v, %w : tensor<i1>, {scalar}
    %y = stablehlo.select %keep, %i, %j : tensor<i1>, {index}
    stablehlo.return %x, %y : {scalar}, {index}
  }})"""
    types = f"({kind}, {tensor((size,), 'i32')}, {scalar}, {index}) -> ({scalar}, {index})"
    operands = f"{values}, {numbers}, {low}, {zero}"
    draft.op(f'"stablehlo.reduce"({operands}) <{{dimensions = array<i64: 0>}}> {body} : {types}', scalar, index)


def reduce_window(draft: Draft) -> None:
    element, shape = draft.pick(*NUMBERS), draft.filled_shape(1, 4)
    base = [draft.size(1, 3) for _ in shape]
    dilations = [draft.size(1, 3) for _ in shape]
    low, high = ([draft.size(0, 3) for _ in shape] for _ in range(2))
    spread = [
        (size - 1) * gap + 1 + before + after for size, gap, before, after in zip(shape, base, low, high, strict=True)
    ]
    sizes = [draft.size(1, max((room - 1) // gap + 1, 1) + 1) for room, gap in zip(spread, dilations, strict=True)]
    steps = [draft.size(1, 3) for _ in shape]
    spans = [(size - 1) * gap + 1 for size, gap in zip(sizes, dilations, strict=True)]
    counts = [(room - span) // step + 1 for room, span, step in zip(spread, spans, steps, strict=True)]
    padding = [[before, after] for before, after in zip(low, high, strict=True)]
    op = draft.pick("add", "maximum", "minimum", "multiply")
    body = f"stablehlo.{op} %a, %b"
    operands = _folded(draft, op, element, prod(sizes), shape)
    attributes = (
        f"<{{window_dimensions = {array(sizes)}, window_strides = {array(steps)}, base_dilations = {array(base)}, "
        f"window_dilations = {array(dilations)}, padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}>"
    )
    result = tensor(counts, element)
    types = f"({tensor(shape, element)}, {tensor((), element)}) -> {result}"
    draft.op(f'"stablehlo.reduce_window"({operands}) {attributes} {region(element, body)} : {types}', result)


def convolution(draft: Draft) -> None:
    element = draft.pick(*NUMBERS)
    spatial = draft.size(1, 3)
    feature_groups, batch_groups = [(1, 1), (2, 1), (1, 2)][draft.size(0, 3)]
    batch = draft.size(1, 3) * batch_groups
    inputs, outputs = draft.size(1, 3), draft.size(1, 3) * feature_groups * batch_groups
    sizes, kernel = [draft.size(3, 6) for _ in range(spatial)], [draft.size(1, 4) for _ in range(spatial)]
    strides, left, right = ([draft.size(1, 3) for _ in range(spatial)] for _ in range(3))
    pads = [[draft.size(0, 3), draft.size(0, 3)] for _ in range(spatial)]
    rooms = [(size - 1) * gap + 1 + sum(pad) for size, gap, pad in zip(sizes, left, pads, strict=True)]
    spans = [(size - 1) * gap + 1 for size, gap in zip(kernel, right, strict=True)]
    kernel = [size if span <= room else 1 for size, span, room in zip(kernel, spans, rooms, strict=True)]
    spans = [(size - 1) * gap + 1 for size, gap in zip(kernel, right, strict=True)]
    counts = [(room - span) // step + 1 for room, span, step in zip(rooms, spans, strides, strict=True)]
    reverse = [int(draft.random.integers(2)) for _ in range(spatial)]
    tags = list(map(str, range(spatial)))
    lhs_shape = (batch, *sizes, inputs * feature_groups)
    rhs_shape = (*kernel, inputs, outputs)
    result = tensor((batch // batch_groups, *counts, outputs), element)
    lhs, rhs = draft.numbers(lhs_shape, element), draft.numbers(rhs_shape, element)
    draft.adds(prod(kernel) * inputs, element, lhs, rhs)
    operands = f"{lhs}, {rhs}"
    dims = f"[b, {', '.join(tags)}, f]x[{', '.join(tags)}, i, o]->[b, {', '.join(tags)}, f]"
    window = f"stride = {strides}, pad = {pads}, lhs_dilate = {left}, rhs_dilate = {right}, reverse = {reverse}"
    groups = f"batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64"
    types = f"{tensor(lhs_shape, element)}, {tensor(rhs_shape, element)}"
    if draft.random.random() < 0.7:
        text = f"stablehlo.convolution({operands}) dim_numbers = {dims}, window = {{{window}}} {{{groups}}}"
        draft.op(f"{text} : ({types}) -> {result}", result)
        return
    amounts = draft.sizes(np.array(pads, np.int64))
    flags = f"array<i1: {', '.join('true' if each else 'false' for each in reverse)}>"
    attributes = (
        f"<{{dimension_numbers = #stablehlo.conv<{dims}>, window_strides = {array(strides)}, "
        f"lhs_dilation = {array(left)}, rhs_dilation = {array(right)}, window_reversal = {flags}, {groups}}}>"
    )
    text = f'"stablehlo.dynamic_conv"({operands}, {amounts}) {attributes}'
    draft.op(f"{text} : ({types}, {draft.types[amounts]}) -> {result}", result)


def select_and_scatter(draft: Draft) -> None:
    element, shape = draft.pick(*INTEGERS, *FLOATS), draft.filled_shape(1, 3)
    low, high = ([draft.size(0, 2) for _ in shape] for _ in range(2))
    rooms = [size + before + after for size, before, after in zip(shape, low, high, strict=True)]
    sizes = [draft.size(1, min(room, 3) + 1) for room in rooms]
    # A window that holds padding alone would prefer nothing.
    low = [min(before, size - 1) for before, size in zip(low, sizes, strict=True)]
    high = [min(after, size - 1) for after, size in zip(high, sizes, strict=True)]
    rooms = [size + before + after for size, before, after in zip(shape, low, high, strict=True)]
    steps = [draft.size(1, 3) for _ in shape]
    counts = [(room - size) // step + 1 for room, size, step in zip(rooms, sizes, steps, strict=True)]
    scalar, kind = tensor((), element), tensor(shape, element)
    direction = draft.pick("GE", "LE", "GT")
    select = f"""({{
  ^bb0(%a: {scalar}, %b: {scalar}):
    %0 = stablehlo.compare {direction}, %a, %b : ({scalar}, {scalar}) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }}, """ + region(element, "stablehlo.add %a, %b").removeprefix("(")
    # Other init values than 0 are added once by XLA, and twice by the reference.
    source, init = draft.numbers(counts, element), draft.constant(np.zeros((), dtype_of(ELEMENTS[element])), element)
    draft.adds(1 + prod(-(-size // step) for size, step in zip(sizes, steps, strict=True)), element, source)
    padding = [[before, after] for before, after in zip(low, high, strict=True)]
    attributes = (
        f"<{{window_dimensions = {array(sizes)}, window_strides = {array(steps)}, "
        f"padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}>"
    )
    types = f"({kind}, {tensor(counts, element)}, {scalar}) -> {kind}"
    operands = f"{draft.numbers(shape, element)}, {source}, {init}"
    draft.op(f'"stablehlo.select_and_scatter"({operands}) {attributes} {select} : {types}', kind)


def fft(draft: Draft) -> None:
    # The reference stops at f32, and gives garbage for the inverse of a real transform to an odd length.
    shape, part = (*draft.shape(0, 2), 2 * draft.size(1, 4)), "f64"
    length, kind = shape[-1], draft.pick("FFT", "IFFT", "RFFT", "IRFFT")
    half, complex_element = (*shape[:-1], length // 2 + 1), f"complex<{part}>"
    operands = {"RFFT": tensor(shape, part), "IRFFT": tensor(half, complex_element)}
    results = {"RFFT": tensor(half, complex_element), "IRFFT": tensor(shape, part)}
    operand, result = (
        operands.get(kind, tensor(shape, complex_element)),
        results.get(kind, tensor(shape, complex_element)),
    )
    name = draft.numbers(half if kind == "IRFFT" else shape, part if kind == "RFFT" else complex_element)
    draft.op(f"stablehlo.fft {name}, type = {kind}, length = {[length]} : ({operand}) -> {result}", result)
    # Each result is a sum of all elements with factors of modulus 1, which are transcendental, and off by 4 themselves.
    # A real inverse counts each half twice.
    total = np.abs(draft.constants[name].astype(np.complex128)).sum(axis=-1, keepdims=True)
    factor = {"IFFT": 1 / length, "IRFFT": 2 / length}.get(kind, 1)
    draft.bounds = [np.multiply(total, factor * (length + 4) * float(np.finfo(np.float64).eps))] * len(draft.results)


def triangular_solve(draft: Draft) -> None:
    """Return triangular systems with a large diagonal, so that their solutions are well conditioned."""
    # The reference stops at batch dims, and at adjoints.
    element, size, other = draft.pick("f32", "f64", *COMPLEX), draft.size(), draft.size()
    is_left, is_lower, is_unit = (draft.random.random() < 0.5 for _ in range(3))
    shape, right = (size, size), (size, other) if is_left else (other, size)
    transpose = draft.pick("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
    if transpose == "ADJOINT":
        transpose = draft.replaced("TRANSPOSE")
    matrix = np.add(np.divide(draft.plain(shape, element), 4), 2 * np.eye(size)).astype(dtype_of(ELEMENTS[element]))
    lhs, rhs = draft.constant(matrix, element), draft.numbers(right, element)
    flags = (
        f"left_side = {str(is_left).lower()}, lower = {str(is_lower).lower()}, unit_diagonal = {str(is_unit).lower()}, "
        f"transpose_a = #stablehlo<transpose {transpose}>"
    )
    kind = tensor(right, element)
    text = f'"stablehlo.triangular_solve"({lhs}, {rhs}) <{{{flags}}}>'
    draft.op(f"{text} : ({tensor(shape, element)}, {kind}) -> {kind}", kind)
    triangle = (np.tril if is_lower else np.triu)(matrix.astype(np.complex128))
    if is_unit:
        np.fill_diagonal(triangle, 1)
    triangle = triangle.T if transpose == "TRANSPOSE" else triangle
    bound = _bound_of_solution(triangle, draft.constants[rhs].astype(np.complex128), is_left)
    epsilon = np.finfo(np.float32 if "f32" in element else np.float64).eps
    draft.bounds = [np.multiply(bound, float(epsilon))] * len(draft.results)


def _bound_of_solution(triangle: Numbers, rhs: Numbers, is_left: bool) -> NDArray[np.float64]:
    """Return the bound n |a^-1| |a| |x|, in relative errors, on the error of x in a x = b, solved by substitution."""
    left, right = (triangle, rhs) if is_left else (triangle.T, rhs.T)
    inverse = np.linalg.inv(left)
    bound = len(left) * (np.abs(inverse) @ np.abs(left) @ np.abs(inverse @ right))
    return bound if is_left else bound.T
