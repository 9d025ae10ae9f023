"""Ties of ops on windows."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import rank_of, shape_of
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp, SelectAndScatterOp
from sdy.evidence.sizes.ties import Ints, Ties, ints_in

TABLE = OpTable[None, [Ties]]()


@TABLE.of(ConvolutionOp)
def _convolution(op: ConvolutionOp, ties: Ties) -> None:
    """Tie batch, features, and sizes to numbers of windows; windows keep their sizes, and so do dims in groups."""
    numbers = op.dimension_numbers.data
    lhs, rhs, result = ties.of(op.lhs), ties.of(op.rhs), ties.of(op.result)
    in_batches, in_features = op.batch_group_count.value.data != 1, op.feature_group_count.value.data != 1
    batch = lhs[numbers.input_batch_dimension], result[numbers.output_batch_dimension]
    inputs = lhs[numbers.input_feature_dimension], rhs[numbers.kernel_input_feature_dimension]
    outputs = rhs[numbers.kernel_output_feature_dimension], result[numbers.output_feature_dimension]
    pairs = ((batch, in_batches), (inputs, in_features), (outputs, in_batches or in_features))
    for (one, other), is_grouped in pairs:
        for each in (one, other) if is_grouped else ():
            ties.classes.lock(each, "a convolution treats it in groups")
        if not is_grouped or ties.classes.sizes[one] == ties.classes.sizes[other]:
            ties.tie(one, other)
    spatial = (numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions, numbers.output_spatial_dimensions)
    for number, (dim, kernel_dim, result_dim) in enumerate(zip(*spatial, strict=True)):
        window, count = (rhs[kernel_dim], "rhs_dilation"), (result[result_dim], "window_strides")
        small, large = sorted((window, count), key=lambda each: ties.classes.sizes[each[0]])
        ties.classes.lock(small[0], "a window of a convolution moves along it")
        gap, step = (_step(op, name, number) for name in ("lhs_dilation", large[1]))
        ties.classes.tie_line(gap, lhs[dim], step, large[0])


def _step(op: Operation, name: str, number: int) -> int:
    found: Attribute | None = op.properties.get(name)
    return 1 if found is None else (ints_in(found)[number : number + 1] or (1,))[0]


@TABLE.of(ReduceWindowOp, SelectAndScatterOp)
def _windows(op: Operation, ties: Ties) -> None:
    """Tie sizes to numbers of windows; windows keep their sizes, unless they have all elements up to theirs."""
    whole, counted = op.operands[:2] if isinstance(op, SelectAndScatterOp) else (op.operands[0], op.results[0])
    alike = [each for each in (*op.operands, *op.results) if rank_of(each)]
    moving: list[int] = []
    for dim, size in enumerate(shape_of(whole)):
        window, padding = _window(op, dim)
        if window == 1 and padding == (0, 0):
            continue
        if isinstance(op, ReduceWindowOp) and window == size and sorted(padding) == [0, size - 1]:
            _tie_cumulative(ties, op, dim, padding)
            continue
        moving.append(dim)
        gap, stride = (_step(op, name, dim) for name in ("base_dilations", "window_strides"))
        ties.classes.tie_line(gap, ties.of(whole)[dim], stride, ties.of(counted)[dim])
    for value in (whole, counted):
        same = [each for each in alike if shape_of(each) == shape_of(value)]
        ties.same_dims(*same)
    ties.same_dims(*alike, but=moving)


def _window(op: Operation, dim: int) -> tuple[int, tuple[int, int]]:
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
