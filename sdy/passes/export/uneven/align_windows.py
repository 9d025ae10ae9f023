"""Give convolutions and pooling along sharded dims the sizes with which each shard computes a shard of the result.

    before  %1 = convolution %0 : 64 rows -> 62                                       [{"x"}]     "x"=4
    after   %1 = slice (convolution %0, two more rows of padding : 64 rows -> 64) [0:62]

Shards of 16 rows then compute 16 rows with a halo of two rows, and the last device drops two of them. Without it, the
shards of the result would require other rows of each shard, and all rows would be gathered.

Requires: closed shardings, before reshards. Ensures: nothing but sizes changes; new elements are at the end of dims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import codec_of
from sdy.dialects.facts.traits import combiners_of
from sdy.dialects.ir.walk import of_class, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp, SelectAndScatterOp, WindowOp
from sdy.partitioner.emit.emitter import Emitter, Style, with_shape
from sdy.partitioner.emit.sharded_emitter import padded_to, trimmed_to, zero_scalar
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.partitioner.on_shards.windows import (
    Window,
    windows_of,
    with_equal_kernel_shards,
    with_equal_shards,
    with_equal_tiles,
)
from sdy.passes.rewriting.op_order import forget_order
from sdy.rules.all import RULE_ATTRIBUTE


class AlignWindowsPass(ModulePass):
    """Add results to windows along sharded dims, and elements to their input, so that shards can compute them."""

    name = "sdy-align-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Align the windows of each op that has some along sharded dims."""
        found = list(unaligned_windows(op))
        for unaligned in found:
            _align(unaligned)
        if found:
            forget_order(op)


@dataclass(frozen=True, slots=True)
class UnalignedWindows:
    """An op, and its windows along some dims of its input with the sizes that they need."""

    op: WindowOp
    needed: Mapping[int, Window]


def unaligned_windows(module: ModuleOp) -> Iterator[UnalignedWindows]:
    """Yield the ops with windows along sharded dims that shards cannot compute, but could with other sizes."""
    shardings = ValueShardings(meshes_of(module))
    ops = pre_order(module, ManualComputationOp)
    for op in (*of_class(ops, ConvolutionOp), *of_class(ops, ReduceWindowOp), *of_class(ops, SelectAndScatterOp)):
        needed = dict(_needed(op, shardings)) if _may_grow(op) else {}
        if needed:
            yield UnalignedWindows(op, needed)


def _may_grow(op: WindowOp) -> bool:
    """Return whether the op has static shapes, and no quantized elements, whose zeros are other numbers.

    A `select_and_scatter` must add what it scatters, so that zeros change nothing.
    """
    if isinstance(op, SelectAndScatterOp) and combiners_of(op.scatter.block) != (AddOp,):
        return False
    values = (*op.operands, *op.results)
    return all(static_shape(each.type) is not None and codec_of(element_type_of(each)) is not None for each in values)


def _needed(op: WindowOp, shardings: ValueShardings) -> Iterator[tuple[int, Window]]:
    """Yield the dims of the input whose windows need other sizes, and these windows."""
    for dim, window in windows_of(op).items():
        count = shardings.shard_count(op.operands[0], dim)
        if count == 1 or window.is_pointwise:
            continue
        found = _with_equal_shards(op, window, dim, count, shardings)
        if found is not None:
            yield dim, found


def _with_equal_shards(op: WindowOp, window: Window, dim: int, count: int, shardings: ValueShardings) -> Window | None:
    """Return windows that `count` shards of the input can compute, None if there are none or `window` is such."""
    axes, result_axes = shardings.dim_axes(op.operands[0], dim), shardings.dim_axes(op.results[0], window.result_dim)
    if result_axes == axes:
        return (with_equal_tiles if isinstance(op, SelectAndScatterOp) else with_equal_shards)(window, count)
    has_kernel_shards = window.kernel_dim is not None and shardings.dim_axes(op.operands[1], window.kernel_dim) == axes
    return with_equal_kernel_shards(window, count) if has_kernel_shards and not result_axes else None


def _align(unaligned: UnalignedWindows) -> None:
    """Give the op the sizes that its windows need, and its users the results that they had."""
    op, needed = unaligned.op, unaligned.needed
    op.attributes.pop(RULE_ATTRIBUTE, None)  # the rule has the sizes from before
    _set_padding(op, needed)
    emit = Emitter(op, Style())
    sizes = {dim: window.size for dim, window in needed.items()}
    results = windows = {window.result_dim: window.results for window in needed.values()}
    match op:
        case ConvolutionOp():
            kernels = {each.kernel_dim: each.kernel for each in needed.values() if each.kernel_dim is not None}
            _extend(op, 0, sizes, emit)
            _extend(op, 1, kernels, emit)
        case ReduceWindowOp():
            for index, init in enumerate(op.init_values):
                _extend(op, index, sizes, emit, init)
        case SelectAndScatterOp():
            _extend(op, 0, sizes, emit)
            _extend(op, 1, windows, emit)
            results = sizes
    for result in tuple(op.results):
        _add_results(result, results)


def _set_padding(op: WindowOp, needed: Mapping[int, Window]) -> None:
    dims = list(windows_of(op))
    padding = [0] * (2 * len(dims)) if op.padding is None else list(op.padding.get_ints())
    for dim, window in needed.items():
        padding[2 * dims.index(dim) + 1] = window.high
    op.padding = DenseElementsAttr.from_values(TensorType(i64, [len(dims), 2]), padding)


def _extend(op: WindowOp, index: int, sizes: Mapping[int, int], emit: Emitter, filler: SSAValue | None = None) -> None:
    """Pad an operand at the end of some dims, with zeros or with the scalar `filler`."""
    value = op.operands[index]
    wanted = _with_sizes(shape_of(value), sizes)
    if wanted != shape_of(value):
        filler = zero_scalar(emit, value) if filler is None else filler
        op.operands[index] = padded_to(emit, value, filler, wanted, sharding_of(value))


def _add_results(result: SSAValue, sizes: Mapping[int, int]) -> None:
    """Let the op compute more results at the end of some dims, which a slice drops."""
    own, sharding = shape_of(result), sharding_of(result)
    wanted = _with_sizes(own, sizes)
    if wanted == own:
        return
    larger = Rewriter.replace_value_with_new_type(result, with_shape(result, wanted))
    op = larger.owner
    assert isinstance(op, Operation)
    assert op.next_op is not None  # a block has a terminator
    emit = Emitter(op.next_op, Style(), op.location)
    dropped = trimmed_to(emit, larger, own, sharding)
    larger.replace_uses_with_if(dropped, lambda use: use.operation is not dropped.owner)


def _with_sizes(shape: Sequence[int], sizes: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sizes.get(dim, size) for dim, size in enumerate(shape))
