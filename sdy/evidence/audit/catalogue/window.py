"""Programs of one op on windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from sdy.evidence.audit.catalogue.text import array, binary_body, generic, program, tensor

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


PROGRAMS = (_reduce_windows, _select_and_scatters, _convolutions)
