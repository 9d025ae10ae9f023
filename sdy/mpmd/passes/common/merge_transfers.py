"""Send several scalars from one fragment to another in one transfer. Source: docs/spec/07, 6.15."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.rewriting import without_values
from sdy.mpmd.passes.tools.uses import distinct, users_of
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.rewriting.insertion import insert

CONCATENATED = "concat_transfer"
MAX_ELEMENTS = 1
Tensor = TensorType[Attribute]


class MergeTransfersPass(FunctionPass):
    """Concatenate the scalars that one fragment transfers to another, and transfer them at once."""

    name = "mpmd-merge-transfers"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Add the joint transfers; the old ones become unused."""
        for producer in fragments_of(func):
            current = producer
            for (tensor, consumer), indices in _groups(producer).items():
                if len(indices) > 1:
                    current = _join(current, tensor, consumer, indices)


def _groups(producer: FragmentOp) -> dict[tuple[Tensor, FragmentOp], list[int]]:
    """Return the small results by their type and the fragment to which they are transferred."""
    groups: dict[tuple[Tensor, FragmentOp], list[int]] = {}
    for index, result in enumerate(producer.results):
        if not isinstance(result.type, MeshTensorType) or not _is_eligible(result.type):
            continue
        for transfer in users_of(result):
            if isinstance(transfer, TransferOp) and CONCATENATED not in transfer.attributes:
                for consumer in distinct(users_of(transfer.result)):
                    if isinstance(consumer, FragmentOp):
                        groups.setdefault((result.type.tensor, consumer), []).append(index)
    return groups


def _is_eligible(result_type: MeshTensorType) -> bool:
    return (
        not result_type.is_on_host and result_type.is_fully_replicated and result_type.element_count() <= MAX_ELEMENTS
    )


def _join(producer: FragmentOp, tensor: Tensor, consumer: FragmentOp, indices: list[int]) -> FragmentOp:
    """Transfer some results together; return the fragment that replaces the producer."""
    end = terminator_of(producer.body)
    emit = Emitter(end, Style())
    rows = [emit.reshape(end.operands[index], [1, *tensor.get_shape()]) for index in indices]
    joined = emit.concatenate(rows, 0)
    end.operands = [*end.operands, joined]
    positions = [_operands_of(producer.results[index], consumer) for index in indices]
    new = without_values(producer, (), (), [MeshTensorType.of(producer.mesh, joined.type)])
    transfer = TransferOp(new.results[-1], MeshTensorType.of(consumer.mesh, joined.type))
    transfer.attributes[CONCATENATED] = UnitAttr()
    insert(transfer, InsertPoint.after(new), new.location)
    _receive(consumer, transfer, positions)
    return new


def _operands_of(value: SSAValue, consumer: FragmentOp) -> list[int]:
    """Return the operands of a fragment that are transfers of a value."""
    transfers = [user for user in users_of(value) if isinstance(user, TransferOp)]
    return [use.index for transfer in transfers for use in transfer.result.uses if use.operation is consumer]


def _receive(consumer: FragmentOp, joined: TransferOp, positions: list[list[int]]) -> None:
    """Take the rows of a joint operand in place of the arguments at `positions`, which are given per row."""
    block = consumer.block
    start = block.first_op
    assert start is not None  # a fragment returns
    consumer.operands = [*consumer.operands, joined.result]
    rows = block.insert_arg(joined.target_type.tensor, len(block.args))
    emit = Emitter(start, Style(), consumer.location)
    for number, places in enumerate(positions):
        for argument in (block.args[place] for place in places):
            row = slice_along(emit, rows, 0, number, number + 1)
            replace_uses(argument, emit.reshape(row, shape_of(argument)))
