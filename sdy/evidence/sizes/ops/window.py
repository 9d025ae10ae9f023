"""Ties of ops on windows."""

from __future__ import annotations

from xdsl.ir import Attribute

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import rank_of, shape_of
from sdy.dialects.stablehlo.window import ConvolutionOp, PoolingOp, ReduceWindowOp, SelectAndScatterOp
from sdy.evidence.sizes.attribute_numbers import Ints, ints_in
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()


@TABLE.of(ConvolutionOp)
def _convolution(op: ConvolutionOp, ties: Ties) -> None:
    """Tie batch and features; windows keep the spatial sizes, and groups keep all."""
    if op.feature_group_count.value.data != 1 or op.batch_group_count.value.data != 1:
        ties.lock_all(op)
        return
    numbers = op.dimension_numbers.data
    lhs, rhs, result = ties.of(op.lhs), ties.of(op.rhs), ties.of(op.result)
    ties.tie(lhs[numbers.input_batch_dimension], result[numbers.output_batch_dimension])
    ties.tie(lhs[numbers.input_feature_dimension], rhs[numbers.kernel_input_feature_dimension])
    ties.tie(rhs[numbers.kernel_output_feature_dimension], result[numbers.output_feature_dimension])
    reason = "a window of a convolution moves along it"
    ties.lock(op.lhs, reason, numbers.input_spatial_dimensions)
    ties.lock(op.rhs, reason, numbers.kernel_spatial_dimensions)
    ties.lock(op.result, reason, numbers.output_spatial_dimensions)


@TABLE.of(ReduceWindowOp, SelectAndScatterOp)
def _windows(op: PoolingOp, ties: Ties) -> None:
    """Tie the dims along which windows have one element, or all elements up to theirs, and keep the others."""
    shape = shape_of(op.operands[0])
    values = [each for each in (*op.operands, *op.results) if rank_of(each)]
    moving: list[int] = []
    for dim, size in enumerate(shape):
        window, padding = _window(op, dim)
        if window == 1 and padding == (0, 0):
            continue
        if isinstance(op, ReduceWindowOp) and window == size and sorted(padding) == [0, size - 1]:
            _tie_cumulative(ties, op, dim, padding)
        else:
            moving.append(dim)
    ties.same_dims(*values, but=moving)
    for value in values:
        ties.lock(value, f"a window of {op.name} moves along it", moving)


def _window(op: PoolingOp, dim: int) -> tuple[int, tuple[int, int]]:
    """Return the size and the padding of windows that move element by element along a dim; others have size -1."""

    def ints(name: str) -> Ints:
        found: Attribute | None = op.properties.get(name)
        return () if found is None else ints_in(found)

    steps = (ints(name)[dim : dim + 1] for name in ("window_strides", "base_dilations", "window_dilations"))
    sizes, padding = ints("window_dimensions")[dim : dim + 1] or (1,), ints("padding")
    low, high = padding[2 * dim : 2 * dim + 2] or (0, 0)
    return (sizes[0] if all(step in ((), (1,)) for step in steps) else -1), (low, high)


def _tie_cumulative(ties: Ties, op: ReduceWindowOp, dim: int, padding: tuple[int, int]) -> None:
    """Tie a window that has all elements up to one, or from one on: the padding is an element shorter than the dim."""
    size = ties.of(op.operands[0])[dim]
    ties.tie(ties.attribute(op, "window_dimensions", dim, size), size)
    edge = ties.attribute(op, "padding", 2 * dim + (padding[0] == 0), size)
    ties.classes.tie_sum(((1, size), (-1, edge)), 1)
