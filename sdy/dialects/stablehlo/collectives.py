"""Communication ops and their checks: between devices, and between a device and the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias, TypeGuard, cast, get_args

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
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
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr, has_channel
from sdy.dialects.stablehlo.attributes.replica_groups import HloMeshAttr, ReplicaGroupMeshAxesAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import (
    check_results_like_operands,
    require_reducer_region,
    require_result_per_operand,
)
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    require_dims,
    require_element_type,
    require_i64_elements,
    require_same_element_type,
    require_same_type,
    require_shape,
    scaled_size,
    shape,
)
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import RESULT_ONLY
from sdy.dialects.stablehlo.tokens import check_tokens
from sdy.model.checks.check_mesh import check_group_axes
from sdy.model.collective import CollectiveKind
from sdy.model.mesh import Mesh

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 1, 2, 3  # values of the field `type` of a channel handle
MAX_LISTED_DEVICES = 1 << 21  # pairs of more devices than the largest machines have: a larger number is a mistake
MOST_SHOWN = 64  # devices in a message
PADDING = -1  # fills the rows of replica_groups whose groups are smaller than others


def check_all_gather(op: Operation) -> None:
    """Check that `all_gather_dim` of each result is the operand's dim times the number of devices in a group."""
    _check_groups(op)
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_element_type(op, (operand, result))
        sizes = list(shape(op, operand))
        dim = integer(op, "all_gather_dim")
        require_dims(op, "all_gather_dim", [dim], len(sizes), "the operand")
        if sizes[dim] == 0:
            fail(op, "SDY-D016", f"the size of dim {dim}, all_gather_dim, must not be 0")
        group = _group_size_across_partitions(op, sizes[dim], _size_of(op, result, dim))
        sizes[dim] = DYNAMIC_INDEX if group is None else scaled_size(sizes[dim], group)
        require_shape(op, result, sizes, f"inferred from the operand and {_group_text(group)}")


def check_reduce_scatter(op: Operation) -> None:
    """Check that `scatter_dimension` of the result is the operand's dim divided by the number of devices in a group."""
    _check_groups(op)
    require_same_element_type(op, (op.operands[0], op.results[0]))
    sizes = list(shape(op, op.operands[0]))
    dim = integer(op, "scatter_dimension")
    require_dims(op, "scatter_dimension", [dim], len(sizes), "the operand")
    group = _group_size_across_partitions(op, _size_of(op, op.results[0], dim), sizes[dim])
    sizes[dim] = DYNAMIC_INDEX if group is None else _divided_size(op, dim, sizes[dim], group)
    require_shape(op, op.results[0], sizes, f"inferred from the operand and {_group_text(group)}")
    require_reducer_region(op, op.regions[0], op.operands)


def check_all_to_all(op: Operation) -> None:
    """Check that `split_dimension` is divided by `split_count` and that `concat_dimension` is multiplied by it."""
    _check_groups(op)
    count = integer(op, "split_count")
    if count < 1:
        fail(op, "SDY-D016", f"split_count must be at least 1, got {count}")
    group = _group_size(op)
    if group is not None and group != count:
        fail(op, "SDY-D013", f"split_count must equal the number of devices in a group, got {count} and {group}")
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_element_type(op, (operand, result))
        sizes = list(shape(op, operand))
        split, concat = integer(op, "split_dimension"), integer(op, "concat_dimension")
        require_dims(op, "split_dimension", [split], len(sizes), "the operand")
        require_dims(op, "concat_dimension", [concat], len(sizes), "the operand")
        sizes[split] = _divided_size(op, split, sizes[split], count)
        sizes[concat] = scaled_size(sizes[concat], count)
        require_shape(op, result, sizes, "inferred from the operand and split_count")


def check_same_types_in_group(op: Operation) -> None:
    """Check the replica groups of a collective whose results have the types of its operands."""
    _check_groups(op)
    check_results_like_operands(op)


def check_collective_broadcast(op: Operation) -> None:
    """Check that there is a result for each operand, except for the operand that holds the roots."""
    _check_groups(op, may_leave_out=True)
    operands = list(op.operands)
    if "has_dynamic_root" in op.properties:
        if not operands:
            fail(op, "SDY-D001", "has_dynamic_root requires an operand that holds the roots")
        require_shape(op, operands.pop(), (len(op.results),), "it holds one root per result")
    if len(operands) != len(op.results):
        fail(op, "SDY-D001", f"expected one result per operand ({len(operands)}), got {len(op.results)}")
    for operand, result in zip(operands, op.results, strict=True):
        require_same_type(op, (operand, result))


def check_all_reduce(op: Operation) -> None:
    """Check that results have the types of the operands, and that the region reduces two elements to one."""
    check_same_types_in_group(op)
    require_reducer_region(op, op.regions[0], op.operands[:1])


def check_collective_permute(op: Operation) -> None:
    """Check that no device is the source, or the target, of two pairs."""
    check_results_like_operands(op)
    pairs = op.properties["source_target_pairs"]
    if not isinstance(pairs, DenseElementsAttr) or len(pairs.type.get_shape()) != 2 or pairs.type.get_shape()[1] != 2:
        fail(op, "SDY-D016", "source_target_pairs must be a list of pairs")
    require_i64_elements(op, "source_target_pairs")
    numbers = _listed_devices(op, "source_target_pairs", pairs)
    if any(number < 0 for number in numbers):
        fail(op, "SDY-D016", f"device ids must not be negative, got {_beginning(numbers)}")
    for role, devices in (("source", numbers[::2]), ("target", numbers[1::2])):
        if len({*devices}) != len(devices):
            fail(op, "SDY-D016", f"a device must be the {role} of at most one pair, got {role}s {_beginning(devices)}")


def _listed_devices(op: Operation, name: str, table: DenseElementsAttr) -> tuple[int, ...]:
    """Return the elements of a list of devices, whose text may be short although it repeats one number very often."""
    if table.data.count > MAX_LISTED_DEVICES:
        fail(op, "SDY-D016", f"{name} must have at most {MAX_LISTED_DEVICES} elements, got {table.data.count}")
    return table.get_ints()


def _beginning(devices: Sequence[int]) -> str:
    """Return the first devices of a list, as a message shows them."""
    return f"[{', '.join(map(str, devices[:MOST_SHOWN]))}{', ...' if len(devices) > MOST_SHOWN else ''}]"


def _check_groups(op: Operation, may_leave_out: bool = False) -> None:
    """Check that every device is in exactly one group, or in at most one if the op `may_leave_out` devices."""
    groups = op.properties["replica_groups"]
    if isinstance(groups, ReplicaGroupMeshAxesAttr) and isinstance(groups.data.mesh, HloMeshAttr):
        problem = check_group_axes(groups.data.axes, Mesh(groups.data.mesh.data.axes))
        if problem is not None:
            fail(op, "SDY-D016", f"replica_groups: {problem.message}")
    if not isinstance(groups, DenseElementsAttr):
        return
    if len(groups.type.get_shape()) != 2:
        fail(op, "SDY-D016", f"replica_groups must have two dims, got {groups.type}")
    require_i64_elements(op, "replica_groups")
    listed = _listed_devices(op, "replica_groups", groups)
    devices = [device for device in listed if device != PADDING or may_leave_out]
    if any(device < 0 for device in devices):
        fail(op, "SDY-D016", f"device ids must not be negative, got {_beginning(devices)}")
    if len({*devices}) != len(devices):
        fail(op, "SDY-D016", f"a device must appear only once in replica_groups, got {_beginning(devices)}")
    missing = {*range(len(devices))} - {*devices}
    if missing and not may_leave_out:
        fail(op, "SDY-D016", f"device {min(missing)} is missing from replica_groups {_beginning(devices)}")


def _group_size(op: Operation) -> int | None:
    """Return the number of devices in a group, or None if groups differ in size or are given by mesh axes."""
    groups = op.properties["replica_groups"]
    if not isinstance(groups, DenseElementsAttr) or PADDING in groups.get_ints():
        return None
    return groups.type.get_shape()[1] or None


def _group_size_across_partitions(op: Operation, small: int, large: int) -> int | None:
    """Return the number of devices in a group; `small` and `large` are the sizes of its dim on one and on all devices.

    The groups of a collective with a channel list replicas, and contain all partitions of each. The number of
    partitions is not part of the op, so any multiple is accepted.
    """
    group = _group_size(op)
    if group is None or not _crosses_partitions(op) or DYNAMIC_INDEX in (small, large):
        return group
    listed = small * group
    return large // small if listed and large and large % listed == 0 else group


def _size_of(op: Operation, value: SSAValue, dim: int) -> int:
    """Return the size of a dim; dynamic if the value has a lower rank, which is reported with the whole shape."""
    sizes = shape(op, value)
    return sizes[dim] if dim < len(sizes) else DYNAMIC_INDEX


def _crosses_partitions(op: Operation) -> bool:
    return has_channel(op) and "use_global_device_ids" not in op.properties


def _divided_size(op: Operation, dim: int, size: int, count: int) -> int:
    if size == DYNAMIC_INDEX:
        return size
    if size % count:
        fail(op, "SDY-D016", f"size {size} of dim {dim} must be divisible by {count}")
    return size // count


def _group_text(size: int | None) -> str:
    return "the replica groups" if size is None else f"replica groups of {size} devices"


def check_device_id(op: Operation) -> None:
    """Check that the result of `partition_id` or `replica_id` is a `tensor<ui32>`."""
    require_shape(op, op.results[0], (), "a device id")
    require_element_type(op, op.results[0], IntegerType(32, Signedness.UNSIGNED), "a device id")


def check_send(op: Operation) -> None:
    """Check that the channel type of a `send` is device to host or device to device, as `is_host_transfer` requires."""
    _check_channel(op, DEVICE_TO_HOST)


def check_recv(op: Operation) -> None:
    """Check that the channel type of a `recv` is host to device or device to device, as `is_host_transfer` requires."""
    _check_channel(op, HOST_TO_DEVICE)


def _check_channel(op: Operation, host_channel_type: int) -> None:
    flag = op.properties.get("is_host_transfer")
    expected = host_channel_type if isinstance(flag, IntegerAttr) and flag.value.data else DEVICE_TO_DEVICE
    channel_type = cast(ChannelHandleAttr, op.properties["channel_handle"]).data.type
    if channel_type != expected:
        fail(op, "SDY-D016", f"is_host_transfer requires a channel of type {expected}, got type {channel_type}")


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

    This is the first device of the group; with `has_dynamic_root`, the last operand holds its index in the group, one
    for each other operand.
    """

    name = "stablehlo.collective_broadcast"
    traits = traits_def(CollectiveOf(CollectiveKind.COLLECTIVE_BROADCAST), MovesElements())
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
    traits = traits_def(CollectiveOf(CollectiveKind.COLLECTIVE_REDUCE), RegionOnElements())
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
    traits = traits_def(CollectiveOf(CollectiveKind.ALL_REDUCE), Pure())
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
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens, check_send)


@irdl_op_definition
class RecvOp(StablehloOp):
    """Return values received over a channel, and a token."""

    name = "stablehlo.recv"
    token = operand_def()
    channel_handle = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(IntegerAttr.constr(i1), default_value=IntegerAttr(0, i1))
    source_target_pairs = opt_prop_def(DenseElementsAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens, check_recv)


@irdl_op_definition
class InfeedOp(StablehloOp):
    """Return values from the infeed of the host, and a token."""

    name = "stablehlo.infeed"
    token = operand_def()
    infeed_config = prop_def(StringAttr, default_value=StringAttr(""))
    layout = opt_prop_def(ArrayAttr)
    result = var_result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens,)


@irdl_op_definition
class OutfeedOp(StablehloOp):
    """Send the inputs to the outfeed of the host, and return a token."""

    name = "stablehlo.outfeed"
    inputs = var_operand_def()
    token = operand_def()
    outfeed_config = prop_def(StringAttr, default_value=StringAttr(""))
    result = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens,)


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
