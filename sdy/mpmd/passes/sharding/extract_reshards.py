"""Move reshards out of transfers between meshes, into fragments. Source: docs/spec/08, 2.5.

before  %t = transfer %f : m1 [{"x"}] -> m2 [{}]
after   the smaller shard is sent: %t = transfer %f : m1 [{"x"}] -> m2 [{"x"}], and what uses %t takes it so
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.context import emit_once
from sdy.dialects.ir.fast_ops import set_operand, set_type
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import SHARDING, set_result_shardings
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.mpmd.dialect.attrs import TopologyAttr
from sdy.mpmd.dialect.functions import topology_of
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType, mesh_type
from sdy.mpmd.passes.sharding.user_shardings import (
    is_transfer_or_return,
    set_fragment_users,
    set_stored_sharding,
    stored_sharding,
)
from sdy.mpmd.passes.tools.fragments import inferred_by
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import distinct, in_block_order, replace_uses_by, users_of
from sdy.passes.rewriting.insertion import insert, insert_before

MADE_BY = "extract_reshards"


class ExtractReshardsFromInterMeshTransfersPass(FunctionPass):
    """Let transfers keep the sharding: a fragment on the side that holds more elements reshards the value."""

    name = "mpmd-extract-reshards-from-inter-mesh-transfers"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the transfers of a function whose meshes all have the same axes."""
        topology = topology_of(func)
        if topology is None or not _is_homogeneous(topology):
            return
        for transfer in ops_of(func, TransferOp):
            if transfer.source_type.is_on_host and transfer.target_type.is_on_host:
                message = "a transfer from host to host is not supported where shardings are propagated"
                findings.warn(transfer, "SDY-M202", message, Severity.ERROR)
                continue
            source, target = stored_sharding(transfer.tensor), stored_sharding(transfer.result)
            if are_equivalent(source, target):
                continue
            message = "a transfer between meshes changes the sharding, which may be slow"
            warning = Diagnostic("SDY-M203", message, span_of(transfer), severity=Severity.WARNING)
            emit_once(findings.ctx, warning)
            if _is_at_producer(transfer, source, target, topology.data[0].mesh):
                _reshard_before(transfer, source, target)
            else:
                _reshard_after(transfer, source, target)


def _is_homogeneous(topology: TopologyAttr) -> bool:
    """Return whether all meshes have the same axes and device ids, not counting axes of size 1."""

    def key(mesh: Mesh) -> tuple[tuple[MeshAxis, ...], tuple[int, ...]]:
        return tuple(axis for axis in mesh.axes if axis.size > 1), mesh.device_ids

    return len({key(named.mesh) for named in topology.data}) == 1


def are_equivalent(first: TensorSharding | None, second: TensorSharding | None) -> bool:
    """Return whether two shardings place a tensor alike; none is the same as one without axes."""

    def axes(sharding: TensorSharding | None) -> tuple[object, ...]:
        if sharding is None or (sharding.is_fully_replicated and not sharding.unreduced):
            return ()
        return (*(dim.axes for dim in sharding.dims), sharding.unreduced)

    return axes(first) == axes(second)


def _is_at_producer(
    transfer: TransferOp, source: TensorSharding | None, target: TensorSharding | None, mesh: Mesh
) -> bool:
    """Return whether the source is resharded: on the side of the device, or where a shard has more elements."""
    if transfer.target_type.is_on_host or transfer.source_type.is_on_host:
        return transfer.target_type.is_on_host
    return _shard_size(transfer.source_type, source, mesh) > _shard_size(transfer.target_type, target, mesh)


def _shard_size(value_type: MeshTensorType, sharding: TensorSharding | None, mesh: Mesh) -> int:
    shape = static_shape(value_type) or ()
    if sharding is None:
        return prod(shape)
    return prod(size // sharded_size(dim.axes, mesh) for size, dim in zip(shape, sharding.dims, strict=True))


def _reshard_before(transfer: TransferOp, source: TensorSharding | None, target: TensorSharding | None) -> None:
    """Give the operand of a transfer the sharding of its result."""
    value = transfer.tensor
    if isinstance(value.owner, Block | TransferOp):
        fragment = insert_before(transfer, _reshard_fragment(value, target))
        set_operand(transfer, 0, fragment.results[0])
        return
    others = [user for user in distinct(users_of(value)) if user is not transfer and is_transfer_or_return(user)]
    mesh = mesh_type(value.type).mesh
    if others:
        fragment = insert_before(in_block_order([transfer, *others])[0], _reshard_fragment(value, source))
        replace_uses_by(value, fragment.results[0], others)
    set_type(value, MeshTensorType.of(mesh, transfer.target_type.tensor))
    sharding = target or (None if source is None else fully_closed(source.mesh, rank_of_type(value.type)))
    if sharding is not None:
        set_stored_sharding(value, sharding, opens_others=True)
        set_fragment_users(value, sharding, only_annotated=True)


def _reshard_after(transfer: TransferOp, source: TensorSharding | None, target: TensorSharding | None) -> None:
    """Give the result of a transfer the sharding of its operand."""
    result = transfer.result
    set_type(result, MeshTensorType.of(transfer.target_type.mesh, transfer.target_type.tensor))
    transfer.attributes.pop(SHARDING, None)
    if source is not None:
        set_result_shardings(transfer, (source,))
        set_fragment_users(result, source, opens_others=True)
    users = [user for user in distinct(users_of(result)) if is_transfer_or_return(user)]
    if users:
        fragment = insert(_reshard_fragment(result, target), InsertPoint.after(transfer), transfer.location)
        replace_uses_by(result, fragment.results[0], users)


def _reshard_fragment(value: SSAValue, sharding: TensorSharding | None) -> FragmentOp:
    """Return a fragment that returns a value with a sharding."""
    source = mesh_type(value.type)
    target = MeshTensorType.of(source.mesh, source.tensor)
    fragment = FragmentOp.make(source.mesh, (), [value], [target], attributes=inferred_by(MADE_BY))
    fragment.block.add_op(ReturnOp(fragment.block.args[0]))
    if sharding is not None:
        fragment.out_shardings = TensorShardingPerValueAttr((sharding,))
    return fragment
