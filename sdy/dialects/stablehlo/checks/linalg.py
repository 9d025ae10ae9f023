"""Types of whole-matrix ops."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from sdy.dialects.stablehlo.checks.control import gives_operand_types
from sdy.dialects.stablehlo.checks.demands import (
    demand_dims,
    demand_same_shape,
    demand_same_type,
    demand_shape,
    fail,
    integer,
    ints,
    name_of,
    shape,
)
from sdy.dialects.stablehlo.enums import FftType, FftTypeAttr

LARGEST_FFT_RANK = 3


def factors(op: Operation) -> None:
    """`cholesky`: square matrices in the last two dims, which the result is like."""
    demand_same_type(op, (op.operands[0], op.results[0]))
    _demand_square(op)


def solves(op: Operation) -> None:
    """`triangular_solve`: a is square, b has as many rows, or columns, and the result is like b."""
    _demand_square(op)
    demand_same_type(op, (op.operands[1], op.results[0]))
    a, b = shape(op, op.operands[0]), shape(op, op.operands[1])
    dim = len(b) - 2 if integer(op, "left_side") else len(b) - 1
    if len(a) != len(b) or (a[-1] != b[dim] and DYNAMIC_INDEX not in (a[-1], b[dim])):
        fail(op, "SDY-D013", f"{name_of(op, op.operands[0])} cannot be solved for {name_of(op, op.operands[1])}")


def transforms(op: Operation) -> None:
    """`fft`: over one to three last dims; of real values, the last dim of the spectrum is about half as long."""
    kind = cast(FftTypeAttr, op.properties["fft_type"]).data
    lengths = ints(op, "fft_length")
    operand = shape(op, op.operands[0])
    if not 1 <= len(lengths) <= min(LARGEST_FFT_RANK, len(operand)):
        fail(op, "SDY-D014", f"fft_length has {len(lengths)} numbers, the operand {len(operand)} dims")
    half = lengths[-1] // 2 + 1
    before = (*lengths[:-1], half) if kind is FftType.IRFFT else lengths
    after = (*lengths[:-1], half) if kind is FftType.RFFT else lengths
    batch = operand[: len(operand) - len(lengths)]
    demand_shape(op, op.operands[0], (*batch, *before), "fft_length gives it")
    demand_shape(op, op.results[0], (*batch, *after), "fft_length gives it")


def sorts(op: Operation) -> None:
    """`sort`: inputs of one shape, results like them; negative dims count from the end."""
    if not op.operands:
        fail(op, "SDY-D001", "there is nothing to sort")
    demand_same_shape(op, op.operands)
    gives_operand_types(op)
    rank = len(shape(op, op.operands[0]))
    dim = integer(op, "dimension") if "dimension" in op.properties else -1
    demand_dims(op, "dimension", [dim + rank if dim < 0 else dim], rank, "the first input")
    block = op.regions[0].block
    if len(block.args) != 2 * len(op.operands):
        fail(op, "SDY-D018", f"the comparator has {len(block.args)} arguments, it takes two per input")


def _demand_square(op: Operation) -> None:
    sizes = shape(op, op.operands[0])
    if len(sizes) < 2 or (sizes[-1] != sizes[-2] and DYNAMIC_INDEX not in sizes[-2:]):
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} holds no square matrices")
