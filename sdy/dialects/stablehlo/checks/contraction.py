"""Types of contractions."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import Shape
from sdy.dialects.stablehlo.checks.requirements import fail, require_dims, require_shape, shape


def check_dot_general(op: Operation) -> None:
    """`dot_general`: batching and contracting dims come in pairs of one size; the result has all other dims."""
    numbers = cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    require_dims(op, "lhs dims", numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions, len(lhs), "lhs")
    require_dims(op, "rhs dims", numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions, len(rhs), "rhs")
    _require_pairs(op, lhs, rhs, "batching", numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
    _require_pairs(op, lhs, rhs, "contracting", numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    _require_precisions(op)
    wanted = [
        *(lhs[dim] for dim in numbers.lhs_batching_dimensions),
        *_others(lhs, numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions),
        *_others(rhs, numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions),
    ]
    require_shape(op, op.results[0], wanted, "lhs, rhs and the dim numbers give it")


def check_dot(op: Operation) -> None:
    """`dot`: the last dim of lhs, of two at most, meets the first of rhs."""
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    for name, of in (("lhs", lhs), ("rhs", rhs)):
        if len(of) not in (1, 2):
            fail(op, "SDY-D011", f"{name} has {len(of)} dims; a dot product is of vectors and matrices")
    _require_pairs(op, lhs, rhs, "contracting", (len(lhs) - 1,), (0,))
    _require_precisions(op)
    require_shape(op, op.results[0], (*lhs[:-1], *rhs[1:]), "lhs and rhs give it")


def _require_pairs(
    op: Operation, lhs: Shape, rhs: Shape, kind: str, lhs_dims: DimNumbers, rhs_dims: DimNumbers
) -> None:
    if len(lhs_dims) != len(rhs_dims):
        fail(op, "SDY-D014", f"lhs has {len(lhs_dims)} {kind} dims, rhs has {len(rhs_dims)}")
    for left, right in zip(lhs_dims, rhs_dims, strict=True):
        if lhs[left] != rhs[right] and DYNAMIC_INDEX not in (lhs[left], rhs[right]):
            message = f"dim {left} of lhs has size {lhs[left]}, dim {right} of rhs has size {rhs[right]}"
            fail(op, "SDY-D013", f"{message}: a pair of {kind} dims has one size")


def _require_precisions(op: Operation) -> None:
    config = cast("ArrayAttr[Attribute] | None", op.properties.get("precision_config"))
    if config is not None and len(config) not in (0, 2):
        fail(op, "SDY-D014", f"precision_config has {len(config)} entries, it takes one per operand")


def _others(of: Shape, taken: DimNumbers) -> list[int]:
    return [size for dim, size in enumerate(of) if dim not in taken]
