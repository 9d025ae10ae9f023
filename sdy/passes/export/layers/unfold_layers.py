"""Inline the calls of folded layers: the inverse of `sdy-fold-layers`.

Every op gets the location that it had in its own layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_before, copy_with_regions, operands_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import op_and_nested_ops, pre_order
from sdy.passes.export.layers.fold_layers import LAYER, stored_locations
from sdy.passes.rewriting.call_graph import call_sites, callee_name
from sdy.passes.rewriting.insertion import erase, insert, replace_by
from sdy.passes.rewriting.op_order import forget_order


class UnfoldLayersPass(ModulePass):
    """Replace the calls of folded layers by the ops of the layers."""

    name = "sdy-unfold-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline all calls. A layer calls no other layer, since only the user's functions are folded."""
        layers = {name: func for name, func in functions_of(op).items() if LAYER in func.attributes}
        if not layers:
            return
        indices = {layer: _location_indices(layer) for layer in layers.values()}
        for calls in call_sites(op).values():
            for call in calls:
                layer = layers.get(callee_name(call))
                if layer is not None:
                    _unfold(call, layer, indices[layer])
        for func in layers.values():
            erase(func)
        forget_order(op)


def _location_indices(layer: FuncOp) -> list[int | None]:
    """Return for each op in a layer the index of its location in the lists of the calls."""
    numbers = {location: number for number, location in enumerate(stored_locations(layer))}
    return [numbers.get(op.location) for op in pre_order(layer)]


def _unfold(call: CallOp, layer: FuncOp, location_indices: Sequence[int | None]) -> None:
    """Copy the body before the call, op by op, which is fast for hundreds of ops and calls."""
    locations, remaining = stored_locations(call), iter(location_indices)
    body = layer.body.block
    new: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    end = terminator_of(layer.body)
    for op in body.ops:
        if op is end:
            break
        if op.regions:
            copy = copy_with_regions(op, new)
            insert(copy, InsertPoint.before(call), op.location)
            copies = op_and_nested_ops(copy)
        else:
            copies = (copy_before(op, [new[operand] for operand in operands_of(op)], call),)
            new.update(zip(op.results, copies[0].results, strict=True))
        for each, index in zip(copies, remaining, strict=False):  # `remaining` also covers later ops
            if index is not None:
                each.location = locations[index]
    replace_by(call, *map(new.__getitem__, operands_of(end)))
