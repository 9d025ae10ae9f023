"""Programs of one op that adds or otherwise combines elements: products, reductions, windows, convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from sdy.evidence.audit.catalogue.text import array, binary_body, generic, program, tensor

Ints = tuple[int, ...]
DOTS: tuple[tuple[Ints, Ints, Ints, Ints, Ints, Ints], ...] = (
    # lhs, rhs, batching dims of both, contracting dims of both
    ((2, 3), (3, 4), (), (), (1,), (0,)),
    ((3, 2), (4, 3), (), (), (0,), (1,)),
    ((2, 4, 3), (2, 3, 2), (0,), (0,), (2,), (1,)),
    ((3, 2, 4), (4, 2, 2), (1,), (1,), (2,), (0,)),
    ((2, 2, 3), (2, 3, 4), (), (), (0, 2), (0, 1)),
    ((2, 3), (2, 4), (0,), (0,), (), ()),
    ((2, 2, 3), (2, 3, 2), (0, 1), (0, 2), (2,), (1,)),
    ((3,), (3,), (), (), (0,), (0,)),
    ((4,), (3,), (), (), (), ()),
)
REDUCERS = (
    *((op, "f32") for op in ("add", "multiply", "maximum", "minimum")),
    *(("add", "i32"), ("and", "i32"), ("or", "i1"), ("and", "i1")),
)
# Per program: sizes, window, strides, dilation of the operand and of the window, low and high padding of the last dim.
WINDOWS = (
    (4, 1, 1, 1, 1, 0, 0),
    (4, 2, 1, 1, 1, 0, 0),
    (4, 2, 2, 1, 1, 0, 0),
    (4, 3, 1, 1, 1, 1, 1),
    (4, 4, 1, 1, 1, 3, 0),
    (4, 1, 2, 1, 1, 0, 0),
    (4, 2, 1, 2, 1, 1, 0),
    (4, 2, 1, 1, 2, 0, 1),
    (6, 3, 3, 1, 1, 0, 0),
)
# Per program: groups of features and of the batch, input and output features, batch.
GROUPS = ((1, 1, 2, 2, 2), (1, 1, 3, 2, 2), (2, 1, 4, 4, 2), (2, 1, 2, 4, 2), (1, 2, 2, 4, 4), (1, 2, 3, 2, 2))


def programs() -> Iterator[str]:
    """Yield programs of all ops that combine elements."""
    for family in (_dots, _reductions, _arg_max, _reduce_windows, _select_and_scatters, _convolutions):
        yield from family()


def _dots() -> Iterator[str]:
    for lhs, rhs, left_batch, right_batch, left_sum, right_sum in DOTS:
        free = [size for dim, size in enumerate(lhs) if dim not in left_batch + left_sum]
        free += [size for dim, size in enumerate(rhs) if dim not in right_batch + right_sum]
        result = tensor([*(lhs[dim] for dim in left_batch), *free])
        dims = f"batching_dims = {list(left_batch)} x {list(right_batch)}, "
        dims += f"contracting_dims = {list(left_sum)} x {list(right_sum)}"
        types = f"({tensor(lhs)}, {tensor(rhs)}) -> {result}"
        yield program(f"%r = stablehlo.dot_general %a, %b, {dims} : {types}", tensor(lhs), tensor(rhs))
    for lhs, rhs in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,))):
        yield generic("stablehlo.dot", [tensor(lhs), tensor(rhs)], [tensor((*lhs[:-1], *rhs[1:]))])


def _reductions() -> Iterator[str]:
    shape = (2, 3, 4)
    for (op, element), count in product(REDUCERS, range(1, 4)):
        for dims in combinations(range(3), count):
            result = tensor((size for dim, size in enumerate(shape) if dim not in dims), element)
            operands = [tensor(shape, element), tensor((), element)]
            yield generic(
                "stablehlo.reduce", operands, [result], f"dimensions = {array(dims)}", binary_body(op, element)
            )


def _arg_max() -> Iterator[str]:
    kinds, results = (tensor((3, 4)), tensor((3, 4), "i32")), (tensor((3,)), tensor((3,), "i32"))
    yield program(
        f"""%low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<2147483647> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a, %b, %low, %none) <{{dimensions = array<i64: 1>}}> ({{
  ^bb0(%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>):
    %gt = stablehlo.compare GT, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %first : tensor<i1>
    %keep = stablehlo.or %gt, %tie : tensor<i1>
    %x = stablehlo.select %keep, %v, %w : tensor<i1>, tensor<f32>
    %y = stablehlo.select %keep, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>
  }}) : ({", ".join(kinds)}, tensor<f32>, tensor<i32>) -> ({", ".join(results)})""",
        *kinds,
    )


def _reduce_windows() -> Iterator[str]:
    for (size, window, stride, base, dilation, low, high), op in product(WINDOWS, ("add", "maximum")):
        room = (size - 1) * base + 1 + low + high
        count = (room - ((window - 1) * dilation + 1)) // stride + 1
        attributes = (
            f"window_dimensions = {array((1, window))}, window_strides = {array((1, stride))}, "
            f"base_dilations = {array((1, base))}, window_dilations = {array((1, dilation))}, "
            f"padding = dense<[[0, 0], [{low}, {high}]]> : tensor<2x2xi64>"
        )
        operands = [tensor((2, size)), tensor(())]
        yield generic("stablehlo.reduce_window", operands, [tensor((2, count))], attributes, binary_body(op))


def _select_and_scatters() -> Iterator[str]:
    select = (
        "({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %z : tensor<i1>\n  }, "
    ) + binary_body("add").removeprefix("(")
    windows = ((4, 2, 2, 0, 0), (4, 2, 1, 0, 0), (4, 1, 1, 0, 0), (4, 3, 2, 1, 0), (6, 3, 3, 0, 0))
    for size, window, stride, low, high in windows:
        count = (size + low + high - window) // stride + 1
        attributes = (
            f"window_dimensions = {array((1, window))}, window_strides = {array((1, stride))}, "
            f"padding = dense<[[0, 0], [{low}, {high}]]> : tensor<2x2xi64>"
        )
        operands = [tensor((2, size)), tensor((2, count)), tensor(())]
        yield generic("stablehlo.select_and_scatter", operands, [tensor((2, size))], attributes, select)


def _convolutions() -> Iterator[str]:
    for window, (features, batches, inputs, outputs, batch) in product(WINDOWS, GROUPS):
        yield _convolution(window, features, batches, inputs, outputs, batch)


def _convolution(window: Sequence[int], features: int, batches: int, inputs: int, outputs: int, batch: int) -> str:
    size, kernel, stride, base, dilation, low, high = window
    room = (size - 1) * base + 1 + low + high
    count = (room - ((kernel - 1) * dilation + 1)) // stride + 1
    lhs, rhs = tensor((batch, size, inputs)), tensor((kernel, inputs // features, outputs))
    result = tensor((batch // batches, count, outputs))
    text = f"stride = [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{base}], rhs_dilate = [{dilation}]"
    groups = f"batch_group_count = {batches} : i64, feature_group_count = {features} : i64"
    return program(
        f"%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{text}}} "
        f"{{{groups}}} : ({lhs}, {rhs}) -> {result}",
        lhs,
        rhs,
    )
