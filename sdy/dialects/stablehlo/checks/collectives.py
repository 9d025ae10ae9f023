"""Types of collectives, given how many devices form a group."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.dialects.stablehlo.checks.control import check_results_like_operands, require_result_per_operand
from sdy.dialects.stablehlo.checks.reduction import require_reducer_region
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

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 1, 2, 3  # types of channels
PADDING = -1  # fills up groups that are smaller than others


def check_all_gather(op: Operation) -> None:
    """`all_gather`: the dim is as many times larger as a group has devices."""
    _check_groups(op)
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_element_type(op, (operand, result))
        sizes = list(shape(op, operand))
        dim = integer(op, "all_gather_dim")
        require_dims(op, "all_gather_dim", [dim], len(sizes), "the operand")
        group = _group_size(op)
        sizes[dim] = DYNAMIC_INDEX if group is None else scaled_size(sizes[dim], group)
        require_shape(op, result, sizes, f"operand and {group or 'the'} devices of a group give it")


def check_reduce_scatter(op: Operation) -> None:
    """`reduce_scatter`: the dim is as many times smaller as a group has devices."""
    _check_groups(op)
    require_same_element_type(op, (op.operands[0], op.results[0]))
    sizes = list(shape(op, op.operands[0]))
    dim = integer(op, "scatter_dimension")
    require_dims(op, "scatter_dimension", [dim], len(sizes), "the operand")
    group = _group_size(op)
    sizes[dim] = DYNAMIC_INDEX if group is None else _part(op, dim, sizes[dim], group)
    require_shape(op, op.results[0], sizes, f"operand and {group or 'the'} devices of a group give it")
    require_reducer_region(op, op.regions[0], op.operands)


def check_all_to_all(op: Operation) -> None:
    """`all_to_all`: one dim is cut in `split_count` parts, another one grows by as much."""
    _check_groups(op)
    count = integer(op, "split_count")
    if count < 1:
        fail(op, "SDY-D016", f"split_count is {count}, it should be at least 1")
    group = _group_size(op)
    if group is not None and group != count:
        fail(op, "SDY-D013", f"split_count is {count}, a group has {group} devices")
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_element_type(op, (operand, result))
        sizes = list(shape(op, operand))
        split, concat = integer(op, "split_dimension"), integer(op, "concat_dimension")
        require_dims(op, "split_dimension", [split], len(sizes), "the operand")
        require_dims(op, "concat_dimension", [concat], len(sizes), "the operand")
        sizes[split] = _part(op, split, sizes[split], count)
        sizes[concat] = scaled_size(sizes[concat], count)
        require_shape(op, result, sizes, "operand and split_count give it")


def check_same_types_in_group(op: Operation) -> None:
    """A collective whose results have the types of its operands."""
    _check_groups(op)
    check_results_like_operands(op)


def check_collective_broadcast(op: Operation) -> None:
    """`collective_broadcast`: gives all its operands but the one that names the roots."""
    _check_groups(op, may_leave_out=True)
    operands = list(op.operands)
    if "has_dynamic_root" in op.properties:
        if not operands:
            fail(op, "SDY-D001", "the operand that names the roots is missing")
        require_shape(op, operands.pop(), (len(op.results),), "it names a root per result")
    if len(operands) != len(op.results):
        fail(op, "SDY-D001", f"{len(op.results)} results for {len(operands)} operands")
    for operand, result in zip(operands, op.results, strict=True):
        require_same_type(op, (operand, result))


def check_all_reduce(op: Operation) -> None:
    """`all_reduce`: results like the operands; the region folds two elements."""
    check_same_types_in_group(op)
    require_reducer_region(op, op.regions[0], op.operands[:1])


def check_collective_permute(op: Operation) -> None:
    """`collective_permute`: no device sends twice, none receives twice."""
    check_results_like_operands(op)
    pairs = op.properties["source_target_pairs"]
    if not isinstance(pairs, DenseElementsAttr) or len(pairs.type.get_shape()) != 2 or pairs.type.get_shape()[1] != 2:
        fail(op, "SDY-D016", "source_target_pairs should be a list of pairs")
    require_i64_elements(op, "source_target_pairs")
    numbers = pairs.get_ints()
    if any(number < 0 for number in numbers):
        fail(op, "SDY-D016", f"device numbers are not negative: {list(numbers)}")
    for what, devices in (("source", numbers[::2]), ("target", numbers[1::2])):
        if len({*devices}) != len(devices):
            fail(op, "SDY-D016", f"a device is the {what} of two pairs: {list(devices)}")


def _check_groups(op: Operation, may_leave_out: bool = False) -> None:
    """Every device is in one group; in one at most where the op may leave devices out."""
    groups = op.properties["replica_groups"]
    if not isinstance(groups, DenseElementsAttr):
        return
    if len(groups.type.get_shape()) != 2:
        fail(op, "SDY-D016", f"replica_groups should have two dims, it is {groups.type}")
    require_i64_elements(op, "replica_groups")
    devices = [device for device in groups.get_ints() if device != PADDING or may_leave_out]
    if any(device < 0 for device in devices):
        fail(op, "SDY-D016", f"device numbers are not negative: {devices}")
    if len({*devices}) != len(devices):
        fail(op, "SDY-D016", f"a device is in two places of replica_groups: {devices}")
    missing = {*range(len(devices))} - {*devices}
    if missing and not may_leave_out:
        fail(op, "SDY-D016", f"device {min(missing)} is in no group of replica_groups: {devices}")


def _group_size(op: Operation) -> int | None:
    """How many devices a group has; None where groups differ, or are given by mesh axes."""
    groups = op.properties["replica_groups"]
    if not isinstance(groups, DenseElementsAttr) or PADDING in groups.get_ints():
        return None
    return groups.type.get_shape()[1] or None


def _part(op: Operation, dim: int, size: int, count: int) -> int:
    if size == DYNAMIC_INDEX:
        return size
    if size % count:
        fail(op, "SDY-D016", f"dim {dim} has size {size}, it does not divide by {count}")
    return size // count


def check_device_id(op: Operation) -> None:
    """`partition_id` and `replica_id`: one unsigned number of 32 bits."""
    require_shape(op, op.results[0], (), "it is one number")
    require_element_type(op, op.results[0], IntegerType(32, Signedness.UNSIGNED), "it numbers devices")


def check_send(op: Operation) -> None:
    """`send`: over a channel to the host, or to a device."""
    _check_channel(op, DEVICE_TO_HOST)


def check_recv(op: Operation) -> None:
    """`recv`: over a channel from the host, or from a device."""
    _check_channel(op, HOST_TO_DEVICE)


def _check_channel(op: Operation, host_kind: int) -> None:
    flag = op.properties.get("is_host_transfer")
    wanted = host_kind if isinstance(flag, IntegerAttr) and flag.value.data else DEVICE_TO_DEVICE
    kind = cast(ChannelHandleAttr, op.properties["channel_handle"]).data.type
    if kind != wanted:
        fail(op, "SDY-D016", f"the channel is of type {kind}, is_host_transfer asks for type {wanted}")
