"""Seeded programs of one StableHLO op each, on random constants: one generator per family of ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    Signedness,
    TensorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from sdy.interpreter.element_types import Array, compute_dtype, dtype_of, is_bool, is_complex, is_float, is_signed
from sdy.interpreter.elements import attribute_of

ELEMENTS: dict[str, Attribute] = {
    "i1": i1,
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    "ui8": IntegerType(8, Signedness.UNSIGNED),
    "ui16": IntegerType(16, Signedness.UNSIGNED),
    "ui32": IntegerType(32, Signedness.UNSIGNED),
    "ui64": IntegerType(64, Signedness.UNSIGNED),
    "f16": f16,
    "bf16": BFloat16Type(),
    "f32": f32,
    "f64": f64,
    "f8E4M3FN": Float8E4M3FNType(),
    "f8E5M2": Float8E5M2Type(),
    "complex<f32>": ComplexType(f32),
    "complex<f64>": ComplexType(f64),
}
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64")
FLOATS = ("f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64")
COMPLEX = ("complex<f32>", "complex<f64>")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS + COMPLEX
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan)


@dataclass
class Draft:
    """A program that is being written: constants and ops, then what it returns.

    `ulps` says how many floats apart results may lie; `closeness` how far, relative to the largest one.
    """

    random: np.random.Generator
    lines: list[str] = field(default_factory=list[str])
    results: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ulps: int = 1
    closeness: float = 0.0

    def pick(self, *choices: str) -> str:
        return choices[int(self.random.integers(len(choices)))]

    def size(self, low: int = 1, high: int = 5) -> int:
        return int(self.random.integers(low, high))

    def shape(self, low_rank: int = 0, high_rank: int = 4) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(int(self.random.integers(low_rank, high_rank))))

    def constant(self, array: Array, element: str) -> str:
        """A constant of these elements; its name."""
        name = f"%c{len(self.lines)}"
        tensor_type = TensorType(ELEMENTS[element], array.shape)
        self.lines.append(f"{name} = stablehlo.constant {attribute_of(array, tensor_type)}")
        return name

    def values(self, shape: Sequence[int], element: str) -> Array:
        """Random elements: small numbers, large ones, and those that functions treat in a way of their own."""
        dtype = dtype_of(ELEMENTS[element])
        count = int(np.prod(shape))
        if is_bool(dtype):
            flat = self.random.integers(0, 2, count).astype(dtype)
        elif is_complex(dtype):
            flat = (self.random.normal(size=count) + 1j * self.random.normal(size=count)).astype(dtype)
        elif is_float(dtype):
            wide = self.random.normal(size=count) * self.random.choice([0.1, 1.0, 3.0, 20.0], count)
            chosen = self.random.random(count) < 0.2
            wide = np.where(chosen, self.random.choice(SPECIAL, count), wide)
            flat = wide.astype(compute_dtype(dtype)).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            small = self.random.integers(-5 if is_signed(dtype) else 0, 9, count)
            large = self.random.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
            flat = np.where(self.random.random(count) < 0.3, large, small.astype(dtype))
        return flat.reshape(tuple(shape))

    def plain(self, shape: Sequence[int], element: str) -> Array:
        """Random elements without the special ones, for ops that add many of them up."""
        dtype = dtype_of(ELEMENTS[element])
        if is_float(dtype):
            return self.random.normal(size=tuple(shape)).astype(compute_dtype(dtype)).astype(dtype)
        return self.values(shape, element)

    def tensor(self, shape: Sequence[int], element: str) -> str:
        return self.constant(self.values(shape, element), element)

    def numbers(self, shape: Sequence[int], element: str) -> str:
        return self.constant(self.plain(shape, element), element)

    def op(self, text: str, *types: str) -> None:
        """An op whose results, of these types, the program returns."""
        names = [f"%r{len(self.lines)}_{index}" for index in range(len(types))]
        self.lines.append(f"{', '.join(names)} = {text}")
        for name, kind in zip(names, types, strict=True):
            if "complex" not in kind:
                self.results.append((name, kind))
                continue
            # What carries results out of the reference knows no complex numbers.
            real = kind.replace("complex<", "", 1).replace(">", "", 1)
            for part in ("real", "imag"):
                self.lines.append(f"{name}_{part} = stablehlo.{part} {name} : ({kind}) -> {real}")
                self.results.append((f"{name}_{part}", real))

    def text(self) -> str:
        types = ", ".join(kind for _, kind in self.results)
        body = "\n  ".join(self.lines)
        names = ", ".join(name for name, _ in self.results)
        return f"func.func @main() -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}\n"


def tensor(shape: Sequence[int], element: str) -> str:
    """The type of a tensor, as text."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def array(numbers: Sequence[int]) -> str:
    """`array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def region(element: str, body: str, count: int = 2) -> str:
    """A region of one op, `%0 = body : type`, on scalars `%a`, `%b` and so on."""
    scalar = tensor((), element)
    arguments = ", ".join(f"%{'abcd'[index]}: {scalar}" for index in range(count))
    return f"({{\n  ^bb0({arguments}):\n    %0 = {body} : {scalar}\n    stablehlo.return %0 : {scalar}\n  }})"


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
    ("tan", FLOATS),
    ("tanh", FLOATS + COMPLEX),
)


def binary(draft: Draft) -> None:
    op, elements = BINARY[int(draft.random.integers(len(BINARY)))]
    element, shape = draft.pick(*elements), draft.shape()
    left, right = draft.values(shape, element), draft.values(shape, element)
    if op in ("divide", "remainder") and element in INTEGERS:
        # The reference divides as the processor does, which stops at these.
        right = np.where((right == 0) | (right == np.array(-1).astype(right.dtype)), np.array(3, right.dtype), right)
    if op == "power" and element in SIGNED:
        right = np.abs(right % np.array(8, right.dtype))
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


def shape_ops(draft: Draft) -> None:
    element, shape = draft.pick("i1", "i8", "ui64", "bf16", "f32", "complex<f32>"), draft.shape(1, 4)
    operand, kind, rank = draft.tensor(shape, element), tensor(shape, element), len(shape)
    match draft.pick("transpose", "reverse", "reshape", "broadcast_in_dim", "iota"):
        case "transpose":
            order = [int(dim) for dim in draft.random.permutation(rank)]
            result = tensor([shape[dim] for dim in order], element)
            draft.op(f"stablehlo.transpose {operand}, dims = {order} : ({kind}) -> {result}", result)
        case "reverse":
            dims = [dim for dim in range(rank) if draft.random.random() < 0.5]
            draft.op(f"stablehlo.reverse {operand}, dims = {dims} : {kind}", kind)
        case "reshape":
            result = tensor((*shape[:-2], int(np.prod(shape[-2:]))), element)
            draft.op(f"stablehlo.reshape {operand} : ({kind}) -> {result}", result)
        case "broadcast_in_dim":
            dims = sorted(int(dim) for dim in draft.random.choice(rank + 2, rank, replace=False))
            sizes = [draft.size() for _ in range(rank + 2)]
            for dim, size in zip(dims, shape, strict=True):
                sizes[dim] = size if size > 1 else sizes[dim]
            result = tensor(sizes, element)
            draft.op(f"stablehlo.broadcast_in_dim {operand}, dims = {dims} : ({kind}) -> {result}", result)
        case _:
            of = tensor(shape, "f16")
            draft.op(f"stablehlo.iota dim = {draft.size(0, rank)} : {of}", of)


def slicing(draft: Draft) -> None:
    element, shape = draft.pick("i8", "ui32", "f32"), draft.shape(1, 4)
    operand, kind = draft.tensor(shape, element), tensor(shape, element)
    match draft.pick("slice", "dynamic_slice", "dynamic_update_slice", "pad", "concatenate"):
        case "slice":
            starts = [draft.size(0, size) for size in shape]
            limits = [draft.size(start, size + 1) for start, size in zip(starts, shape, strict=True)]
            steps = [draft.size(1, 4) for _ in shape]
            ranges = list(zip(starts, limits, steps, strict=True))
            result = tensor([-((start - limit) // step) for start, limit, step in ranges], element)
            text = ", ".join(f"{start}:{limit}:{step}" for start, limit, step in ranges)
            draft.op(f"stablehlo.slice {operand} [{text}] : ({kind}) -> {result}", result)
        case "dynamic_slice":
            sizes = [draft.size(1, size + 1) for size in shape]
            starts = [draft.constant(np.array(draft.size(-3, size + 3), np.int32), "i32") for size in shape]
            scalars, result = ", ".join(["tensor<i32>"] * len(shape)), tensor(sizes, element)
            operands = ", ".join([operand, *starts])
            draft.op(f"stablehlo.dynamic_slice {operands}, sizes = {sizes} : ({kind}, {scalars}) -> {result}", result)
        case "dynamic_update_slice":
            sizes = [draft.size(1, size + 1) for size in shape]
            starts = [draft.constant(np.array(draft.size(-3, size + 3), np.int64), "i64") for size in shape]
            scalars = ", ".join(["tensor<i64>"] * len(shape))
            operands = ", ".join([operand, draft.tensor(sizes, element), *starts])
            types = f"({kind}, {tensor(sizes, element)}, {scalars}) -> {kind}"
            draft.op(f"stablehlo.dynamic_update_slice {operands} : {types}", kind)
        case "pad":
            gaps = [draft.size(0, 3) for _ in shape]
            low, high = ([draft.size(-1, 3) for _ in shape] for _ in range(2))
            spread = [size + (size - 1) * gap for size, gap in zip(shape, gaps, strict=True)]
            high = [max(after, -size - before) for size, before, after in zip(spread, low, high, strict=True)]
            result = tensor([sum(each) for each in zip(low, spread, high, strict=True)], element)
            value = draft.tensor((), element)
            amounts = f"low = {low}, high = {high}, interior = {gaps}"
            types = f"({kind}, {tensor((), element)}) -> {result}"
            draft.op(f"stablehlo.pad {operand}, {value}, {amounts} : {types}", result)
        case _:
            dim = draft.size(0, len(shape))
            other = [draft.size() if place == dim else size for place, size in enumerate(shape)]
            whole = [size + (other[dim] if place == dim else 0) for place, size in enumerate(shape)]
            second, result = draft.tensor(other, element), tensor(whole, element)
            types = f"({kind}, {tensor(other, element)}) -> {result}"
            draft.op(f"stablehlo.concatenate {operand}, {second}, dim = {dim} : {types}", result)


def dot_general(draft: Draft) -> None:
    element = draft.pick("i8", "ui16", "i64", "i1", "f32", "f64", "complex<f32>")
    batch, left, right, summed = (list(draft.shape(0, 3)) for _ in range(4))
    orders = [draft.random.permutation(len(batch) + len(free) + len(summed)) for free in (left, right)]
    names, shapes, dims = [], [], []
    for order, free in zip(orders, (left, right), strict=True):
        sizes = [*batch, *summed, *free]
        shape = [sizes[place] for place in order]
        place_of = {int(place): index for index, place in enumerate(order)}
        names.append(draft.numbers(shape, element))
        shapes.append(tensor(shape, element))
        # Free dims come out in the order in which the operand has them.
        free[:] = [sizes[place] for place in order if place >= len(batch) + len(summed)]
        batch_dims = [place_of[place] for place in range(len(batch))]
        dims.append((batch_dims, [place_of[len(batch) + place] for place in range(len(summed))]))
    result = tensor([*batch, *left, *right], element)
    draft.closeness = 1e-6
    text = f"batching_dims = {dims[0][0]} x {dims[1][0]}, contracting_dims = {dims[0][1]} x {dims[1][1]}"
    draft.op(f"stablehlo.dot_general {names[0]}, {names[1]}, {text} : ({', '.join(shapes)}) -> {result}", result)


def reduce(draft: Draft) -> None:
    op, element = (
        draft.pick("add", "multiply", "maximum", "minimum", "subtract"),
        draft.pick("i8", "ui32", "f32", "f64"),
    )
    shape = draft.shape(1, 4)
    dims = [dim for dim in range(len(shape)) if draft.random.random() < 0.6] or [0]
    result = tensor([size for dim, size in enumerate(shape) if dim not in dims], element)
    operands = f"{draft.numbers(shape, element)}, {draft.numbers((), element)}"
    # Adding a product with 0 keeps the region associative, and makes it more than one op.
    body = f"stablehlo.{'add' if op == 'subtract' else op} %a, %b"
    draft.closeness = 1e-5
    types = f"({tensor(shape, element)}, {tensor((), element)}) -> {result}"
    draft.op(
        f'"stablehlo.reduce"({operands}) <{{dimensions = {array(dims)}}}> {region(element, body)} : {types}', result
    )


def argmax(draft: Draft) -> None:
    size = draft.size(1, 9)
    kind, scalar, index = tensor((size,), "i8"), "tensor<i8>", "tensor<i32>"
    values = draft.constant((draft.values((size,), "i8") % 4).astype(np.int8), "i8")
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


def gather(draft: Draft) -> None:
    shape, element = draft.shape(1, 4), "i32"
    rank = len(shape)
    mapped = [int(dim) for dim in draft.random.permutation(rank)[: draft.size(0, rank + 1)]]
    collapsed = sorted(dim for dim in range(rank) if draft.random.random() < 0.4)
    sizes = [1 if dim in collapsed else draft.size(1, size + 1) for dim, size in enumerate(shape)]
    index_shape = draft.shape(0, 3)
    vector_dim = draft.size(0, len(index_shape) + 1)
    whole = (*index_shape[:vector_dim], len(mapped), *index_shape[vector_dim:])
    indices = draft.constant(draft.random.integers(-2, 6, whole).astype(np.int64), "i64")
    window = [size for dim, size in enumerate(sizes) if dim not in collapsed]
    result_rank = len(index_shape) + len(window)
    offset = sorted(int(dim) for dim in draft.random.choice(result_rank, len(window), replace=False)) if window else []
    window_sizes, index_sizes = iter(window), iter(index_shape)
    result = tensor([next(window_sizes if dim in offset else index_sizes) for dim in range(result_rank)], element)
    numbers = f"offset_dims = {offset}, collapsed_slice_dims = {collapsed}, start_index_map = {mapped}"
    numbers += f", index_vector_dim = {vector_dim}"
    operand = draft.tensor(shape, element)
    types = f"({tensor(shape, element)}, {tensor(whole, 'i64')}) -> {result}"
    attributes = f"<{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(sizes)}}}>"
    draft.op(f'"stablehlo.gather"({operand}, {indices}) {attributes} : {types}', result)


def scatter(draft: Draft) -> None:
    shape, element = draft.shape(1, 4), draft.pick("i32", "ui8", "f32")
    rank = len(shape)
    mapped = [int(dim) for dim in draft.random.permutation(rank)[: draft.size(0, rank + 1)]]
    inserted = sorted(dim for dim in range(rank) if draft.random.random() < 0.4)
    sizes = [draft.size(1, size + 1) for dim, size in enumerate(shape) if dim not in inserted]
    index_shape = draft.shape(0, 3)
    vector_dim = draft.size(0, len(index_shape) + 1)
    whole = (*index_shape[:vector_dim], len(mapped), *index_shape[vector_dim:])
    indices = draft.constant(draft.random.integers(-1, 5, whole).astype(np.int32), "i32")
    update_rank = len(index_shape) + len(sizes)
    window = sorted(int(dim) for dim in draft.random.choice(update_rank, len(sizes), replace=False)) if sizes else []
    window_sizes, index_sizes = iter(sizes), iter(index_shape)
    update_shape = [next(window_sizes if dim in window else index_sizes) for dim in range(update_rank)]
    numbers = f"update_window_dims = {window}, inserted_window_dims = {inserted}"
    numbers += f", scatter_dims_to_operand_dims = {mapped}, index_vector_dim = {vector_dim}"
    operands = f"{draft.numbers(shape, element)}, {indices}, {draft.numbers(update_shape, element)}"
    body = draft.pick("stablehlo.add %a, %b", "stablehlo.maximum %a, %b", "stablehlo.subtract %a, %b", "keep")
    draft.closeness = 1e-6
    code = region(element, body) if body != "keep" else _second(element)
    kind = tensor(shape, element)
    types = f"({kind}, {tensor(whole, 'i32')}, {tensor(update_shape, element)}) -> {kind}"
    attributes = f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}>"
    draft.op(f'"stablehlo.scatter"({operands}) {attributes} {code} : {types}', kind)


def _second(element: str) -> str:
    scalar = tensor((), element)
    return f"({{\n  ^bb0(%a: {scalar}, %b: {scalar}):\n    stablehlo.return %b : {scalar}\n  }})"


def reduce_window(draft: Draft) -> None:
    element, shape = draft.pick("i32", "ui8", "f32"), draft.shape(1, 4)
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
    body = draft.pick("stablehlo.add %a, %b", "stablehlo.maximum %a, %b", "stablehlo.multiply %a, %b")
    operands = f"{draft.numbers(shape, element)}, {draft.numbers((), element)}"
    attributes = (
        f"<{{window_dimensions = {array(sizes)}, window_strides = {array(steps)}, base_dilations = {array(base)}, "
        f"window_dilations = {array(dilations)}, padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}>"
    )
    result = tensor(counts, element)
    types = f"({tensor(shape, element)}, {tensor((), element)}) -> {result}"
    draft.op(f'"stablehlo.reduce_window"({operands}) {attributes} {region(element, body)} : {types}', result)


def convolution(draft: Draft) -> None:
    element = draft.pick("i32", "f32", "f64")
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
    operands = f"{draft.numbers(lhs_shape, element)}, {draft.numbers(rhs_shape, element)}"
    dims = f"[b, {', '.join(tags)}, f]x[{', '.join(tags)}, i, o]->[b, {', '.join(tags)}, f]"
    window = f"stride = {strides}, pad = {pads}, lhs_dilate = {left}, rhs_dilate = {right}, reverse = {reverse}"
    groups = f"batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64"
    types = f"({tensor(lhs_shape, element)}, {tensor(rhs_shape, element)}) -> {result}"
    draft.closeness = 1e-5
    text = f"stablehlo.convolution({operands}) dim_numbers = {dims}, window = {{{window}}} {{{groups}}} : {types}"
    draft.op(text, result)


def sort(draft: Draft) -> None:
    element, shape = draft.pick("i32", "ui8", "f32"), draft.shape(1, 3)
    dim, direction = draft.size(0, len(shape)), draft.pick("LT", "GT", "LE")
    keys = draft.values(shape, element)
    keys = (
        np.where(np.isnan(keys), np.zeros((), keys.dtype), keys) if element == "f32" else keys % np.array(7, keys.dtype)
    )
    numbers = np.arange(keys.size, dtype=np.int32).reshape(shape)
    scalar, kinds = tensor((), element), (tensor(shape, element), tensor(shape, "i32"))
    order = "TOTALORDER" if element == "f32" and draft.random.random() < 0.5 else None
    body = f"""({{
  ^bb0(%a: {scalar}, %b: {scalar}, %c: tensor<i32>, %d: tensor<i32>):
    %0 = stablehlo.compare {direction if direction != "LE" else "LT"}, %a, %b{f", {order}" if order else ""} : ({scalar}, {scalar}) -> tensor<i1>
    {"%1 = stablehlo.and %0, %0 : tensor<i1>" if direction == "LE" else "%1 = stablehlo.not %0 : tensor<i1>"}
    stablehlo.return {"%1" if direction == "LE" else "%0"} : tensor<i1>
  }})"""
    operands = f"{draft.constant(keys, element)}, {draft.constant(numbers, 'i32')}"
    attributes = f"<{{dimension = {dim} : i64, is_stable = true}}>"
    draft.op(f'"stablehlo.sort"({operands}) {attributes} {body} : ({", ".join(kinds)}) -> ({", ".join(kinds)})', *kinds)


def select_and_scatter(draft: Draft) -> None:
    element, shape = draft.pick("i32", "f32"), draft.shape(1, 3)
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
    padding = [[before, after] for before, after in zip(low, high, strict=True)]
    attributes = (
        f"<{{window_dimensions = {array(sizes)}, window_strides = {array(steps)}, "
        f"padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}>"
    )
    types = f"({kind}, {tensor(counts, element)}, {scalar}) -> {kind}"
    operands = f"{draft.numbers(shape, element)}, {source}, {init}"
    draft.closeness = 1e-6
    draft.op(f'"stablehlo.select_and_scatter"({operands}) {attributes} {select} : {types}', kind)


def fft(draft: Draft) -> None:
    # Of odd lengths, the reference gives garbage for the inverse of a real transform.
    shape = (*draft.shape(0, 2), 2 * draft.size(1, 4))
    lengths = [shape[-1]]
    draft.closeness = 1e-5
    match draft.pick("FFT", "IFFT", "RFFT", "IRFFT"):
        case "RFFT":
            result = tensor((*shape[:-1], shape[-1] // 2 + 1), "complex<f64>")
            operand, kind, fft_type = draft.numbers(shape, "f64"), tensor(shape, "f64"), "RFFT"
        case "IRFFT":
            half = (*shape[:-1], shape[-1] // 2 + 1)
            operand, kind, fft_type = draft.numbers(half, "complex<f64>"), tensor(half, "complex<f64>"), "IRFFT"
            result = tensor(shape, "f64")
        case other:
            operand, kind, fft_type = draft.numbers(shape, "complex<f64>"), tensor(shape, "complex<f64>"), other
            result = kind
    draft.op(f"stablehlo.fft {operand}, type = {fft_type}, length = {lengths} : ({kind}) -> {result}", result)


def control(draft: Draft) -> None:
    kind = "tensor<3xi32>"
    value, index = draft.tensor((3,), "i32"), draft.constant(np.array(draft.size(-1, 4), np.int32), "i32")
    bodies = ", ".join(
        f"{{\n    %b = stablehlo.{op} {value}, {value} : {kind}\n    stablehlo.return %b : {kind}\n  }}"
        for op in ("add", "multiply", "xor")
    )
    draft.op(f'"stablehlo.case"({index}) ({bodies}) : (tensor<i32>) -> {kind}', kind)
    limit = draft.constant(np.array(draft.size(0, 9), np.int32), "i32")
    text = f"""stablehlo.while(%i = {index}, %s = {value}) : tensor<i32>, {kind}
  cond {{
    %w = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, {draft.constant(np.array(1, np.int32), "i32")} : tensor<i32>
    %t = stablehlo.add %s, {value} : {kind}
    stablehlo.return %n, %t : tensor<i32>, {kind}
  }}"""
    draft.op(text, "tensor<i32>", kind)


FAMILIES: dict[str, Callable[[Draft], None]] = {
    "unary": unary,
    "binary": binary,
    "compare": compare,
    "convert": convert,
    "bitcast": bitcast,
    "select_and_clamp": select_and_clamp,
    "reduce_precision": reduce_precision,
    "shape": shape_ops,
    "slicing": slicing,
    "dot_general": dot_general,
    "reduce": reduce,
    "argmax": argmax,
    "gather": gather,
    "scatter": scatter,
    "reduce_window": reduce_window,
    "convolution": convolution,
    "sort": sort,
    "select_and_scatter": select_and_scatter,
    "fft": fft,
    "control": control,
}


def random_program(family: str, seed: int) -> Draft:
    """A program of one op of the family; the same for the same seed."""
    draft = Draft(np.random.default_rng([seed, *family.encode()]))
    FAMILIES[family](draft)
    return draft
