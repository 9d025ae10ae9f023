"""Send several scalars from one fragment to another in one transfer. Source: docs/spec/07, 6.15."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.rewriting import without_values
from sdy.mpmd.passes.tools.uses import distinct, users_of
from sdy.passes.rewriting.insertion import insert, insert_before

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
    row = TensorType(tensor.element_type, [1, *tensor.get_shape()])
    all_rows = TensorType(tensor.element_type, [len(indices), *tensor.get_shape()])
    rows = [
        insert_before(end, ReshapeOp.create(operands=[end.operands[index]], result_types=[row])).result
        for index in indices
    ]
    joined = ConcatenateOp.create(operands=rows, result_types=[all_rows], properties={"dimension": IntegerAttr(0, i64)})
    insert_before(end, joined)
    end.operands = [*end.operands, joined.result]
    positions = [_operands_of(producer.results[index], consumer) for index in indices]
    new = without_values(producer, (), (), [MeshTensorType.of(producer.mesh, all_rows)])
    transfer = TransferOp(new.results[-1], MeshTensorType.of(consumer.mesh, all_rows))
    transfer.attributes[CONCATENATED] = UnitAttr()
    insert(transfer, InsertPoint.after(new), new.location)
    _receive(consumer, transfer.result, tensor, all_rows, positions)
    return new


def _operands_of(value: SSAValue, consumer: FragmentOp) -> list[int]:
    """Return the operands of a fragment that are transfers of a value."""
    transfers = [user for user in users_of(value) if isinstance(user, TransferOp)]
    return [use.index for transfer in transfers for use in transfer.result.uses if use.operation is consumer]


def _receive(
    consumer: FragmentOp, joined: SSAValue, tensor: Tensor, all_rows: Tensor, positions: list[list[int]]
) -> None:
    """Take the rows of a joint operand in place of the arguments at `positions`, which are given per row."""
    block = consumer.block
    consumer.operands = [*consumer.operands, joined]
    rows = block.insert_arg(all_rows, len(block.args))
    row = TensorType(tensor.element_type, [1, *tensor.get_shape()])
    rank = len(tensor.get_shape())
    start = InsertPoint.at_start(block)
    for number, places in enumerate(positions):
        for place in places:
            bounds = [number, *[0] * rank], [number + 1, *tensor.get_shape()], [1] * (rank + 1)
            names = ("start_indices", "limit_indices", "strides")
            properties: dict[str, Attribute] = {
                name: DenseArrayBase.from_list(i64, numbers) for name, numbers in zip(names, bounds, strict=True)
            }
            part = SliceOp.create(operands=[rows], result_types=[row], properties=properties)
            reshape = ReshapeOp.create(operands=[part.result], result_types=[tensor])
            for op in (part, reshape):
                insert(op, start, consumer.location)
            replace_uses(block.args[place], reshape.result)
