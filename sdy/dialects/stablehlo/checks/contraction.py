"""Checks of `dot` and `dot_general`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr
from xdsl.ir import Attribute, Operation

from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import DimSizes
from sdy.dialects.stablehlo.checks.requirements import fail, require_dims, require_shape, shape


def check_dot_general(op: Operation) -> None:
    """Check that batching and contracting dims come in pairs of equal sizes, and that the result has all other dims."""
    numbers = cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    require_dims(
        op,
        "the dimension numbers of lhs",
        numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions,
        len(lhs),
        "lhs",
    )
    require_dims(
        op,
        "the dimension numbers of rhs",
        numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions,
        len(rhs),
        "rhs",
    )
    _require_pairs(op, lhs, rhs, "batching", numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
    _require_pairs(op, lhs, rhs, "contracting", numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    _require_precisions(op)
    expected = [
        *(lhs[dim] for dim in numbers.lhs_batching_dimensions),
        *_remaining_sizes(lhs, numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions),
        *_remaining_sizes(rhs, numbers.rhs_batching_dimensions + numbers.rhs_contracting_dimensions),
    ]
    require_shape(op, op.results[0], expected, "inferred from lhs, rhs and dot_dimension_numbers")


def check_dot(op: Operation) -> None:
    """Check that both operands are vectors or matrices, and that their contracting dims have equal sizes."""
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    for name, sizes in (("lhs", lhs), ("rhs", rhs)):
        if len(sizes) not in (1, 2):
            fail(op, "SDY-D011", f"{name} must be a vector or a matrix, got rank {len(sizes)}")
    _require_pairs(op, lhs, rhs, "contracting", (len(lhs) - 1,), (0,))
    _require_precisions(op)
    require_shape(op, op.results[0], (*lhs[:-1], *rhs[1:]), "inferred from lhs and rhs")


def _require_pairs(
    op: Operation, lhs: DimSizes, rhs: DimSizes, kind: str, lhs_dims: DimNumbers, rhs_dims: DimNumbers
) -> None:
    if len(lhs_dims) != len(rhs_dims):
        message = f"lhs and rhs must have equally many {kind} dims, got {len(lhs_dims)} and {len(rhs_dims)}"
        fail(op, "SDY-D014", message)
    for left, right in zip(lhs_dims, rhs_dims, strict=True):
        if lhs[left] != rhs[right] and DYNAMIC_INDEX not in (lhs[left], rhs[right]):
            message = f"dim {left} of lhs has size {lhs[left]} and dim {right} of rhs has size {rhs[right]}"
            fail(op, "SDY-D013", f"sizes of {kind} dims must match, but {message}")


def _require_precisions(op: Operation) -> None:
    config = cast("ArrayAttr[Attribute] | None", op.properties.get("precision_config"))
    if config is not None and len(config) not in (0, 2):
        fail(op, "SDY-D014", f"precision_config must have 0 or 2 entries, one per operand, got {len(config)}")


def _remaining_sizes(sizes: DimSizes, excluded: DimNumbers) -> list[int]:
    return [size for dim, size in enumerate(sizes) if dim not in excluded]
