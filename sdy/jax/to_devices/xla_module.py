"""The local program in the form that XLA supports inside of a `shard_map`, and compiles well."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context
from sdy.dialects.stablehlo.attributes.attrs import DotDimensionNumbers, DotDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CombinableOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.partitioner.emit.emitter import Channels, Emitter, Style, with_shape
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.rewriting.device_counts import last_channel
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.run import run_passes


def module_for_xla(local: ModuleOp) -> ModuleOp:
    """Return a copy of a local program with the ops that XLA supports inside of a `shard_map`."""
    module = copy_with_regions(local)
    run_passes(make_context(), module, [ChloLegalizeToStablehloPass()], verify_each=False)
    channels = Channels(last_channel(module))
    for op in pre_order(module):
        if isinstance(op, CombinableOp) and len(op.result) > 1:
            _split(op, channels)
        elif isinstance(op, DotGeneralOp):
            _drop_single_batches(op)
    return module


def _split(op: CombinableOp, channels: Channels) -> None:
    """Replace a collective with several operands by one collective per operand, each on a separate channel.

    XLA does not support collectives with several operands inside of a `shard_map`: it uses the sharding of their tuple
    result for each of the results. XLA combines collectives again later.
    """
    for operand, result in zip(op.inputs, op.result, strict=True):
        properties = dict(op.properties)
        if op.channel_handle is not None:
            properties["channel_handle"] = channels.next_handle()
        single = type(op).create(
            operands=[operand],
            result_types=[result.type],
            properties=properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
        insert_before(op, single)
        replace_uses(result, single.results[0])
    erase(op)


def _drop_single_batches(op: DotGeneralOp) -> None:
    """Reshape the operands of a product so that no batching dim has one element, as where a device has one head.

    XLA on CPU drops such a dim as well, but then transposes the operands, which may take longer than the product.
    """
    numbers, sizes = op.dot_dimension_numbers.data, shape_of(op.lhs)
    batches = zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True)
    single = [(*dims, number) for number, dims in enumerate(batches) if sizes[dims[0]] == 1]
    if not single:
        return
    dropped = zip(*single, strict=True)
    left, right, result = map(_kept_dims, (op.lhs, op.rhs, op.result), dropped)
    dims_left = DotDimensionNumbers(
        _renumbered(numbers.lhs_batching_dimensions, left),
        _renumbered(numbers.rhs_batching_dimensions, right),
        _renumbered(numbers.lhs_contracting_dimensions, left),
        _renumbered(numbers.rhs_contracting_dimensions, right),
    )
    emit = Emitter(op, Style(), op.location)
    operands = [
        emit.reshape(value, [shape_of(value)[dim] for dim in kept]) for value, kept in ((op.lhs, left), (op.rhs, right))
    ]
    properties = {**op.properties, "dot_dimension_numbers": DotDimensionNumbersAttr(dims_left)}
    tensor = with_shape(op.result, [shape_of(op.result)[dim] for dim in result])
    product = emit.value(DotGeneralOp, operands, tensor, properties)
    replace_uses(op.result, emit.reshape(product, shape_of(op.result)))
    erase(op)


def _kept_dims(value: SSAValue, dropped: Collection[int]) -> list[int]:
    return [dim for dim in range(len(shape_of(value))) if dim not in dropped]


def _renumbered(dims: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    return tuple(kept.index(dim) for dim in dims if dim in kept)
