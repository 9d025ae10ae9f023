"""Fold pads into the windows of pooling and convolutions that read them.

    before  %1 = pad %0, %zero, low = [1], high = [1], interior = [0]    %0 : tensor<64xf32>
            %2 = reduce_window %1, %zero, windows of 3                   %1 : tensor<66xf32>
    after   %2 = reduce_window %0, %zero, windows of 3, padding = [[1, 1]]

A padded dim rarely divides by the size of an axis, so that it could not be sharded. `jnp.pad` and the gradients of
pooling write such pads. Only pads with the value that the op itself pads with are folded: zero for convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.splats import repeated_value, splat_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp
from sdy.dialects.stablehlo.slicing import PadOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp
from sdy.dialects.verification.attribute_checks import SHARDING_RULE
from sdy.passes.rewriting.call_graph import callee_name
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order
from sdy.passes.simplify.inline import computes_only, inline_call
from sdy.passes.simplify.symbol_dce import SymbolDcePass

_PaddedOp: TypeAlias = ReduceWindowOp | ConvolutionOp  # the window ops that can pad their operand themselves


class Edges(NamedTuple):
    """The elements that are added before, after and between those of a dim."""

    low: int
    high: int
    interior: int = 0


class FoldPadsPass(ModulePass):
    """Fold pads into the padding and the base dilation of the windows that read them."""

    name = "sdy-fold-pads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold the pads that each op reads; of several pads, one after the other, the last one first."""
        order = op_order(op)
        windows = [*order.of(ReduceWindowOp), *order.of(ConvolutionOp)]
        inlined = _inline_pads(op, windows)
        pads = [pad for window in windows for pad in _folded(window)]
        if not inlined and not pads:
            keep_order(op)
            return
        forget_order(op)
        erase_dead_ops(pads[::-1])
        if inlined:
            SymbolDcePass().apply(ctx, op)


def _inline_pads(module: ModuleOp, windows: Sequence[_PaddedOp]) -> bool:
    """Inline functions such as that of `jnp.pad`, which only pad, where windows read their results."""
    functions, found = functions_of(module), False
    for window in windows:
        call = window.operands[0].owner
        if isinstance(call, CallOp):
            func = functions[callee_name(call)]
            if computes_only(func, (PadOp,), (ConvertOp, ConstantOp, BroadcastInDimOp)):
                inline_call(call, func)
                found = True
    return found


def _folded(op: _PaddedOp) -> list[PadOp]:
    """Fold the pads that an op reads, one after the other, and return them."""
    found: list[PadOp] = []
    while isinstance(pad := op.operands[0].owner, PadOp) and SHARDING_RULE not in op.attributes:
        spatial = _Spatial.of(op)
        if spatial is None or sharding_of(pad.result) is not None or not _has_value_of(pad, op):
            return found
        edges = _edges(pad, spatial)
        if edges is None:
            return found
        op.operands[0] = pad.operand
        spatial.set_edges(op, edges)
        found.append(pad)
    return found


@dataclass(frozen=True, slots=True)
class _Spatial:
    """The dims of the input of an op along which it has windows, with their padding and base dilation."""

    dims: tuple[int, ...]
    edges: tuple[Edges, ...]

    @staticmethod
    def of(op: _PaddedOp) -> _Spatial | None:
        """Return the windows of an op; None if it has several inputs, or dynamic shapes."""
        if static_shape(op.operands[0].type) is None or static_shape(op.results[0].type) is None:
            return None
        if isinstance(op, ConvolutionOp):
            dims, dilations = tuple(op.dimension_numbers.data.input_spatial_dimensions), op.lhs_dilation
        elif len(op.inputs) == 1:
            dims, dilations = tuple(range(len(shape_of(op.inputs[0])))), op.base_dilations
        else:
            return None
        padding = (0,) * (2 * len(dims)) if op.padding is None else op.padding.get_ints()
        steps = (1,) * len(dims) if dilations is None else ints_of(dilations)
        edges = zip(padding[::2], padding[1::2], (step - 1 for step in steps), strict=True)
        return _Spatial(dims, tuple(Edges(*each) for each in edges))

    def set_edges(self, op: _PaddedOp, edges: Sequence[Edges]) -> None:
        """Give the op other padding and base dilations."""
        padding = [amount for low, high, _ in edges for amount in (low, high)]
        op.padding = DenseElementsAttr.from_values(TensorType(i64, [len(edges), 2]), padding)
        if any(each.interior for each in edges):
            dilations = DenseArrayBase.from_list(i64, [each.interior + 1 for each in edges])
            if isinstance(op, ConvolutionOp):
                op.lhs_dilation = dilations
            else:
                op.base_dilations = dilations


def _edges(pad: PadOp, spatial: _Spatial) -> list[Edges] | None:
    """Return the edges of windows that read the operand of a pad; None if they cannot.

    They cannot if the pad removes elements, if the windows do so, or if there are gaps between the padded elements.
    """
    amounts = [
        Edges(*each)
        for each in zip(*map(ints_of, (pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding)), strict=True)
    ]
    if any(any(each) for dim, each in enumerate(amounts) if dim not in spatial.dims) or 0 in shape_of(pad.operand):
        return None
    found: list[Edges] = []
    for dim, own in zip(spatial.dims, spatial.edges, strict=True):
        added = amounts[dim]
        if any(added) and (min(*added, *own) < 0 or own.interior):
            return None
        found.append(Edges(own.low + added.low, own.high + added.high, own.interior or added.interior))
    return found


def _has_value_of(pad: PadOp, op: _PaddedOp) -> bool:
    """Return whether a pad adds the value that the op pads with."""
    added = _scalar(pad.padding_value)
    if isinstance(op, ConvolutionOp):
        return added == b""
    init = op.init_values[0]
    return pad.padding_value is init or (added is not None and added == _scalar(init))


def _scalar(value: SSAValue) -> bytes | None:
    """Return the bytes of a constant scalar, none for zero; None for other values. Zero is zero in any type."""
    if isinstance(op := repeated_value(value).owner, ConvertOp):
        found = _scalar(op.operand)
        return found if found == b"" or op.operand.type == op.result.type else None
    splat = splat_of(value)
    if splat is None:
        return None
    return splat.data.raw if any(splat.data.raw) else b""
