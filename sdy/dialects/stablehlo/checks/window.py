"""Types of ops that move a window over a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.checks.reduction import reduction_operands, require_reducer
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    ints,
    require_i64_elements,
    require_same_element_type,
    require_same_type,
    require_shape,
    shape,
)
from sdy.dialects.stablehlo.syntax.conv_numbers import ConvDimensionNumbersAttr


@dataclass(frozen=True, slots=True)
class WindowDim:
    """How a window moves along one dim."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1

    def count(self, size: int) -> int:
        """How many places the window takes along a dim of `size`."""
        if DYNAMIC_INDEX in (size, self.size):
            return DYNAMIC_INDEX
        base = (size - 1) * self.base_dilation + 1 if size else 0
        reach = (self.size - 1) * self.window_dilation + 1 if self.size else 0
        room = self.low + base + self.high - reach
        return room // self.stride + 1 if room >= 0 and reach else 0


def check_convolution(op: Operation) -> None:
    """`convolution`: kernel and groups fit the input; the result has a place per window."""
    numbers = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    lhs, rhs = shape(op, op.operands[0]), shape(op, op.operands[1])
    rank = len(numbers.input_spatial_dimensions) + 2
    for name, of in (("lhs", lhs), ("rhs", rhs), ("the result", shape(op, op.results[0]))):
        if len(of) != rank:
            fail(op, "SDY-D014", f"dimension_numbers name {rank} dims, {name} has {len(of)}")
    batch_groups, feature_groups = integer(op, "batch_group_count"), integer(op, "feature_group_count")
    for name, count in (("batch_group_count", batch_groups), ("feature_group_count", feature_groups)):
        if count < 1:
            fail(op, "SDY-D016", f"{name} is {count}, it should be at least 1")
    features = lhs[numbers.input_feature_dimension]
    kernel_features = rhs[numbers.kernel_input_feature_dimension]
    if features != kernel_features * feature_groups and DYNAMIC_INDEX not in (features, kernel_features):
        message = f"lhs has {features} features, the kernel {kernel_features} for each of {feature_groups} groups"
        fail(op, "SDY-D013", message)
    windows = _windows(op, [rhs[dim] for dim in numbers.kernel_spatial_dimensions], "lhs_dilation", "rhs_dilation")
    wanted = [0] * rank
    batch = lhs[numbers.input_batch_dimension]
    wanted[numbers.output_batch_dimension] = batch if batch == DYNAMIC_INDEX else batch // batch_groups
    wanted[numbers.output_feature_dimension] = rhs[numbers.kernel_output_feature_dimension]
    spatial = zip(numbers.output_spatial_dimensions, numbers.input_spatial_dimensions, windows, strict=True)
    for output, data, window in spatial:
        wanted[output] = window.count(lhs[data])
    require_shape(op, op.results[0], wanted, "lhs, rhs and the window give it")


def check_reduce_window(op: Operation) -> None:
    """`reduce_window`: a result element per window."""
    inputs, _ = reduction_operands(op)
    operand = shape(op, inputs[0])
    windows = _windows(op, ints(op, "window_dimensions"), "base_dilations", "window_dilations", len(operand))
    wanted = [window.count(size) for window, size in zip(windows, operand, strict=True)]
    for result in op.results:
        require_shape(op, result, wanted, "inputs and window give it")
    require_reducer(op, inputs)


def check_select_and_scatter(op: Operation) -> None:
    """`select_and_scatter`: a source element per window; the result is like the operand."""
    operand, source, init = op.operands
    require_same_type(op, (operand, op.results[0]))
    require_same_element_type(op, (operand, source, init))
    require_shape(op, init, (), "it is one element")
    sizes = shape(op, operand)
    windows = _windows(op, ints(op, "window_dimensions") or (1,) * len(sizes), "", "", len(sizes))
    wanted = [window.count(size) for window, size in zip(windows, sizes, strict=True)]
    require_shape(op, source, wanted, "operand and window give it")


def _windows(
    op: Operation, sizes: Sequence[int], base_dilation: str, window_dilation: str, rank: int | None = None
) -> list[WindowDim]:
    """A window per dim, from the properties of the op; `rank` dims are wanted where it is given."""
    if rank is not None and len(sizes) != rank:
        fail(op, "SDY-D014", f"window_dimensions has {len(sizes)} numbers, the operand has {rank} dims")
    columns = [_column(op, name, len(sizes), at_least=1) for name in ("window_strides", base_dilation, window_dilation)]
    padding = op.properties.get("padding")
    require_i64_elements(op, "padding")
    amounts = padding.get_ints() if isinstance(padding, DenseElementsAttr) else (0, 0) * len(sizes)
    if len(amounts) != 2 * len(sizes):
        fail(op, "SDY-D014", f"padding has {len(amounts)} numbers, it takes two for each of {len(sizes)} dims")
    rows = zip(sizes, columns[0], amounts[::2], amounts[1::2], columns[1], columns[2], strict=True)
    return [WindowDim(*row) for row in rows]


def _column(op: Operation, name: str, rank: int, at_least: int) -> tuple[int, ...]:
    values = ints(op, name) or (1,) * rank
    if len(values) != rank:
        fail(op, "SDY-D014", f"{name} has {len(values)} numbers, the window has {rank} dims")
    for dim, value in enumerate(values):
        if value < at_least:
            fail(op, "SDY-D016", f"{name} of dim {dim} is {value}, it should be at least {at_least}")
    return values
