"""Programs of one op on windows, rows or matrices: convolutions, linear algebra, transforms, sorts, random bits."""

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


FLAGS = ("false", "true")


def _factorizations() -> Iterator[str]:
    for lower in FLAGS:
        for shape in ((3, 3), (2, 3, 3), (3, 2, 2)):
            yield generic("stablehlo.cholesky", [tensor(shape)], [tensor(shape)], f"lower = {lower}")
    for left, lower, unit, transpose in product(FLAGS, FLAGS, FLAGS, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")):
        attributes = (
            f"left_side = {left}, lower = {lower}, unit_diagonal = {unit}, "
            f"transpose_a = #stablehlo<transpose {transpose}>"
        )
        rhs = tensor((2, 3, 4) if left == "true" else (2, 4, 3))
        yield generic("stablehlo.triangular_solve", [tensor((2, 3, 3)), rhs], [rhs], attributes)


def _transforms() -> Iterator[str]:
    for batch in ((2,), (3, 2)):
        whole, half = (tensor((*batch, size), "complex<f32>") for size in (4, 3))
        real = tensor((*batch, 4))
        for kind, operand, result in (
            ("FFT", whole, whole),
            ("IFFT", whole, whole),
            ("RFFT", real, half),
            ("IRFFT", half, real),
        ):
            attributes = f"fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: 4>"
            yield generic("stablehlo.fft", [operand], [result], attributes)


def _sorts() -> Iterator[str]:
    for shape in ((4,), (2, 4), (4, 1), (2, 3, 2)):
        for dim, count in product(range(len(shape)), (1, 2)):
            scalars = ", ".join(f"%{side}{index}: tensor<f32>" for index in range(count) for side in "xy")
            body = (
                f"({{\n  ^bb0({scalars}):\n"
                "    %z = stablehlo.compare LT, %x0, %y0 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                "    stablehlo.return %z : tensor<i1>\n  })"
            )
            kinds = [tensor(shape)] * count
            yield generic("stablehlo.sort", kinds, kinds, f"dimension = {dim} : i64, is_stable = true", body)


def _normalizations() -> Iterator[str]:
    for shape, feature in (((4, 3), 1), ((3, 4), 0), ((2, 2, 3), 2)):
        attributes = f"epsilon = 1.0e-03 : f32, feature_index = {feature} : i64"
        row, whole = tensor((shape[feature],)), tensor(shape)
        yield generic("stablehlo.batch_norm_inference", [whole, *[row] * 4], [whole], attributes)
        yield generic("stablehlo.batch_norm_training", [whole, row, row], [whole, row, row], attributes)
        yield generic("stablehlo.batch_norm_grad", [whole, *[row] * 3, whole], [whole, row, row], attributes)


def _largest() -> Iterator[str]:
    for shape, count in (((4,), 2), ((2, 4), 2), ((2, 4), 4), ((3, 2, 4), 1)):
        results = [tensor((*shape[:-1], count), element) for element in ("f32", "i32")]
        kinds = f"{tensor(shape)} -> ({', '.join(results)})"
        yield program(f"%r:2 = chlo.top_k(%a, k = {count}) : {kinds}", tensor(shape))


def _random_bits() -> Iterator[str]:
    for shape in ((4,), (2, 4)):
        results = [tensor((2,), "ui64"), tensor(shape, "ui32")]
        attributes = "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>"
        yield generic("stablehlo.rng_bit_generator", [tensor((2,), "ui64")], results, attributes)


PROGRAMS = (
    *(_reduce_windows, _select_and_scatters, _convolutions),
    *(_factorizations, _transforms, _sorts, _normalizations, _largest, _random_bits),
)
