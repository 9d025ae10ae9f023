"""Communication ops: between devices, and between a device and the host."""

from __future__ import annotations

from typing import ClassVar, TypeAlias, TypeGuard, get_args

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i1, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import CollectiveOf, MovesElements, RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.replica_groups import ReplicaGroupMeshAxesAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.collectives import (
    check_all_gather,
    check_all_reduce,
    check_all_to_all,
    check_collective_broadcast,
    check_collective_permute,
    check_device_id,
    check_recv,
    check_reduce_scatter,
    check_same_types_in_group,
    check_send,
)
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import RESULT_ONLY
from sdy.model.collective import CollectiveKind

REPLICA_GROUPS = DenseElementsAttr | ReplicaGroupMeshAxesAttr


@irdl_op_definition
class AllGatherOp(StablehloOp):
    """Concatenate the operands of all devices of a group along a dim."""

    name = "stablehlo.all_gather"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_GATHER), MovesElements())
    inputs = var_operand_def()
    all_gather_dim = prop_def(IntegerAttr.constr(i64))
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_gather,)


@irdl_op_definition
class AllReduceOp(StablehloOp):
    """Reduce the operands of all devices of a group elementwise with a region."""

    name = "stablehlo.all_reduce"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_REDUCE), RegionOnElements())
    inputs = var_operand_def()
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    result = var_result_def()
    computation = region_def("single_block")
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_reduce,)


@irdl_op_definition
class ReduceScatterOp(StablehloOp):
    """Reduce the operands of all devices of a group, and return to each device one slice along a dim."""

    name = "stablehlo.reduce_scatter"
    traits = traits_def(CollectiveOf(CollectiveKind.REDUCE_SCATTER), RegionOnElements())
    operand = operand_def()
    scatter_dimension = prop_def(IntegerAttr.constr(i64))
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    result = result_def()
    computation = region_def("single_block")
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_reduce_scatter,)


@irdl_op_definition
class AllToAllOp(StablehloOp):
    """Split the operand along a dim, send slice i to device i of the group, and concatenate the received slices."""

    name = "stablehlo.all_to_all"
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_TO_ALL), MovesElements())
    inputs = var_operand_def()
    split_dimension = prop_def(IntegerAttr.constr(i64))
    concat_dimension = prop_def(IntegerAttr.constr(i64))
    split_count = prop_def(IntegerAttr.constr(i64))
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_to_all,)


@irdl_op_definition
class CollectivePermuteOp(StablehloOp):
    """Send the operand of the source of each pair to its target; devices that are not a target get zeros."""

    name = "stablehlo.collective_permute"
    traits = traits_def(CollectiveOf(CollectiveKind.COLLECTIVE_PERMUTE), MovesElements())
    operand = operand_def()
    source_target_pairs = prop_def(DenseElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_collective_permute,)


@irdl_op_definition
class CollectiveBroadcastOp(StablehloOp):
    """Return the operands of one device of a group to all devices of the group.

    This is the first device of the group; with `has_dynamic_root` it is the device at the index in the group that the
    last
    operand holds, one index per other operand.
    """

    name = "stablehlo.collective_broadcast"
    traits = traits_def(MovesElements())
    inputs = var_operand_def()
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    has_dynamic_root = opt_prop_def(UnitAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_collective_broadcast,)


@irdl_op_definition
class CollectiveReduceOp(StablehloOp):
    """Reduce like `all_reduce`, but return the result only to the first device of a group, and zeros to others."""

    name = "stablehlo.collective_reduce"
    traits = traits_def(RegionOnElements())
    operand = operand_def()
    replica_groups = prop_def(REPLICA_GROUPS)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()
    computation = region_def("single_block")
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_reduce,)


@irdl_op_definition
class CrossReplicaSumOp(StablehloOp):
    """Sum the operands of a group of replicas."""

    name = "stablehlo.cross-replica-sum"
    operand = operand_def()
    replica_groups = prop_def(DenseElementsAttr)
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_same_types_in_group,)


class DeviceIdOp(FormattedOp):
    """`stablehlo.partition_id : tensor<ui32>`."""

    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_device_id,)
    FORM: ClassVar[Form] = Form(signature=RESULT_ONLY)


@irdl_op_definition
class PartitionIdOp(DeviceIdOp):
    """Return the id of the partition that executes the op."""

    name = "stablehlo.partition_id"


@irdl_op_definition
class ReplicaIdOp(DeviceIdOp):
    """Return the id of the replica that executes the op."""

    name = "stablehlo.replica_id"


@irdl_op_definition
class SendOp(StablehloOp):
    """Send the inputs over a channel, and return a token."""

    name = "stablehlo.send"
    inputs = var_operand_def()
    token = operand_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    source_target_pairs = opt_prop_def(DenseElementsAttr)
    result = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_send,)


@irdl_op_definition
class RecvOp(StablehloOp):
    """Return values received over a channel, and a token."""

    name = "stablehlo.recv"
    token = operand_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    source_target_pairs = opt_prop_def(DenseElementsAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_recv,)


@irdl_op_definition
class InfeedOp(StablehloOp):
    """Return values from the infeed of the host, and a token."""

    name = "stablehlo.infeed"
    token = operand_def()
    infeed_config = prop_def(StringAttr, default_value=StringAttr(""))
    layout = opt_prop_def(ArrayAttr)
    result = var_result_def()


@irdl_op_definition
class OutfeedOp(StablehloOp):
    """Send the inputs to the outfeed of the host, and return a token."""

    name = "stablehlo.outfeed"
    inputs = var_operand_def()
    token = operand_def()
    outfeed_config = prop_def(StringAttr, default_value=StringAttr(""))
    result = result_def()


GroupedOp: TypeAlias = (
    AllGatherOp
    | AllReduceOp
    | AllToAllOp
    | CollectiveBroadcastOp
    | CollectiveReduceOp
    | CrossReplicaSumOp
    | ReduceScatterOp
)
# The classes of `GroupedOp`, of which every op is asked.
_GROUPED = frozenset[type[Operation]](get_args(GroupedOp))


def is_grouped(op: Operation) -> TypeGuard[GroupedOp]:
    """Return whether the op is a collective with replica groups. `isinstance` takes long where every op is asked."""
    return type(op) in _GROUPED


CombinableOp: TypeAlias = AllGatherOp | AllReduceOp  # one of several operands is like several of one

OPS = declared_ops(__name__)
