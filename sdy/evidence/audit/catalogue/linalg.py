"""Programs of one op that needs full rows or matrices: linear algebra, transforms, sorting, normalization."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sdy.evidence.audit.catalogue.text import generic, program, tensor

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


PROGRAMS = (_factorizations, _transforms, _sorts, _normalizations, _largest)
