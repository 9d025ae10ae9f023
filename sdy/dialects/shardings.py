"""Reading and writing of the shardings of values. Only this module depends on where they are stored.

Source: docs/spec/01, 6.1 and 8.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.data_flow import DATA_FLOW_OPS, edge_of_owner, has_data_flow_edges, index_of, op_of, owner_of_target
from sdy.dialects.facts.traits import sharding_properties
from sdy.dialects.ir.func_attrs import attribute_of, with_attribute
from sdy.dialects.sdy.attrs import TensorShardingAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import DataFlowEdgeOp, PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import CarryingLoopOp, ManualComputationOp, ShardedBodyOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import (
    fully_open,
    open_except,
    replaced_at,
    with_manual_axes,
    without_manual_axes,
)

SHARDING = "sdy.sharding"  # one sharding on a function argument or result; one per result on other ops

ValueShardings = tuple[TensorSharding, ...]  # one per value

_ASYNC_START = "stablehlo.async_start"  # compared by name, since few programs use its family
# Ops that store shardings elsewhere than in the attribute `sdy.sharding`.
_SPECIAL: set[type[Operation] | type[None]] = {FuncOp, *filter(sharding_properties, SDY.operations)}
STORED_ELSEWHERE = _SPECIAL | DATA_FLOW_OPS  # for ops with data flow edges, on the owner of an edge


def add_data_flow_ops(*op_classes: type[ShardedBodyOp | CarryingLoopOp]) -> None:
    """Let propagation work through ops of another dialect that pass values into a body and out of it."""
    DATA_FLOW_OPS.update(op_classes)
    STORED_ELSEWHERE.update(op_classes)
    _SPECIAL.update(filter(sharding_properties, op_classes))


# Values


def storing_value(value: SSAValue) -> SSAValue | None:
    """Return the value on which the sharding of `value` is stored, or None if `value` cannot have a sharding."""
    owner = op_of(value)
    if has_data_flow_edges(owner):
        edge_owner = owner_of_target(value)
        edge = edge_of_owner(edge_owner)
        return edge_owner if edge is None else edge.result
    if type(value) is not BlockArgument or type(owner) is FuncOp:
        return value
    return owner.operands[value.index] if owner is not None and owner.name == _ASYNC_START else None


def sharding_of(value: SSAValue) -> TensorSharding | None:
    """Return the sharding of `value`, or None if it has none."""
    if type(value) is OpResult and type(value.op) not in STORED_ELSEWHERE:  # the common case
        return _element(result_shardings(value.op), value.index)
    stored_on = storing_value(value)
    if stored_on is None:
        return None
    op = op_of(stored_on)
    if type(op) not in _SPECIAL:
        return None if op is None else _element(result_shardings(op), index_of(stored_on))
    match op:
        case FuncOp() as func:
            return argument_sharding(func, index_of(stored_on))
        case DataFlowEdgeOp(sharding=None):
            return None
        case DataFlowEdgeOp() | ShardingConstraintOp() | ReshardOp() as op:
            return None if op.sharding is None else op.sharding.data
        case CollectiveOp() as op:
            return op.out_sharding.data
        case ManualComputationOp() | ShardedBodyOp() as op:
            return _owned_sharding(op, stored_on)
        case _:
            return None


def set_sharding(value: SSAValue, sharding: TensorSharding) -> None:
    """Set the sharding of `value`. A value that cannot have one is left unchanged.

    If the op had no shardings, its other results become fully open on the same mesh.
    """
    stored_on = storing_value(value)
    if stored_on is None:
        return
    match op_of(stored_on):
        case FuncOp() as func:
            set_argument_sharding(func, index_of(stored_on), sharding)
        case DataFlowEdgeOp() | ShardingConstraintOp() | ReshardOp() as op:
            op.sharding = TensorShardingAttr(sharding)
        case CollectiveOp() as op:
            op.out_sharding = TensorShardingAttr(sharding)
        case ManualComputationOp() | ShardedBodyOp() as op:
            _set_owned_sharding(op, stored_on, sharding)
        case Operation() as op:
            set_result_shardings(
                op, _with_element(result_shardings(op), index_of(stored_on), sharding, op.result_types)
            )
        case None:
            return


def sharding_before_barriers(value: SSAValue) -> TensorSharding | None:
    """Return the sharding of the value that reaches `value` through propagation barriers, if any."""
    while isinstance(value.owner, PropagationBarrierOp):
        value = value.owner.input
    return sharding_of(value)


# Ops


def result_shardings(op: Operation) -> ValueShardings | None:
    """Return the shardings in the attribute `sdy.sharding` of `op`, or None if it is missing."""
    attr = op.attributes.get(SHARDING)
    return attr.data if isinstance(attr, TensorShardingPerValueAttr) else None


def set_result_shardings(op: Operation, shardings: ValueShardings) -> None:
    """Set the attribute `sdy.sharding` of `op`, one sharding per result. Do nothing if `shardings` is empty."""
    if shardings:
        op.attributes[SHARDING] = TensorShardingPerValueAttr(shardings)


def _owned_sharding(op: ManualComputationOp | ShardedBodyOp, owner: SSAValue) -> TensorSharding | None:
    """Return the sharding of an edge of `op` as its owner sees it: without manual axes in a manual computation."""
    if not isinstance(owner, BlockArgument):
        return _element(_data(op.out_shardings), index_of(owner))
    sharding = _element(_data(op.in_shardings), owner.index)
    if sharding is None or isinstance(op, ShardedBodyOp):
        return sharding
    return without_manual_axes(sharding, op.manual_axes.data)


def _set_owned_sharding(op: ManualComputationOp | ShardedBodyOp, owner: SSAValue, sharding: TensorSharding) -> None:
    index = index_of(owner)
    if not isinstance(owner, BlockArgument):
        op.out_shardings = TensorShardingPerValueAttr(
            _with_element(_data(op.out_shardings), index, sharding, op.result_types)
        )
        return
    in_shardings = _data(op.in_shardings)
    if in_shardings and isinstance(op, ManualComputationOp):
        sharding = with_manual_axes(in_shardings[index], sharding, op.manual_axes.data)
    types = [argument.type for argument in op.body.block.args]
    op.in_shardings = TensorShardingPerValueAttr(_with_element(in_shardings, index, sharding, types))


def _data(attr: TensorShardingPerValueAttr | None) -> ValueShardings | None:
    return None if attr is None else attr.data


def _element(shardings: ValueShardings | None, index: int) -> TensorSharding | None:
    # During verification the list may be too short: that is reported only after elements were read.
    return shardings[index] if shardings and index < len(shardings) else None


def _with_element(
    shardings: ValueShardings | None, index: int, sharding: TensorSharding, types: Sequence[Attribute]
) -> ValueShardings:
    if shardings:
        return replaced_at(shardings, index, sharding)
    return open_except([rank_of_type(value_type) for value_type in types], index, sharding)


# Functions


def argument_sharding(func: FuncOp, index: int) -> TensorSharding | None:
    """Return the sharding of argument `index`, or None if it has none."""
    return _sharding_in(func.arg_attrs, index)


def function_result_sharding(func: FuncOp, index: int) -> TensorSharding | None:
    """Return the sharding of result `index`, or None if it has none."""
    return _sharding_in(func.res_attrs, index)


def set_argument_sharding(func: FuncOp, index: int, sharding: TensorSharding) -> None:
    """Set the sharding of argument `index`."""
    count = len(func.function_type.inputs)
    func.arg_attrs = with_attribute(func.arg_attrs, count, index, SHARDING, TensorShardingAttr(sharding))


def set_function_result_sharding(func: FuncOp, index: int, sharding: TensorSharding) -> None:
    """Set the sharding of result `index`."""
    count = len(func.function_type.outputs)
    func.res_attrs = with_attribute(func.res_attrs, count, index, SHARDING, TensorShardingAttr(sharding))


def argument_shardings(func: FuncOp, meshes: MeshTable) -> ValueShardings | None:
    """Return the shardings of all arguments; missing ones are fully open on the mesh of the first one.

    Return None if no argument has a sharding on a mesh of more than one device.
    """
    shardings = [argument_sharding(func, index) for index in range(len(func.function_type.inputs))]
    return _completed(shardings, func.function_type.inputs.data, meshes)


def function_result_shardings(func: FuncOp, meshes: MeshTable) -> ValueShardings | None:
    """Return the shardings of all results, like `argument_shardings`."""
    shardings = [function_result_sharding(func, index) for index in range(len(func.function_type.outputs))]
    return _completed(shardings, func.function_type.outputs.data, meshes)


def first_usable_mesh(shardings: Sequence[TensorSharding | None], meshes: MeshTable) -> str | Mesh | None:
    """Return the mesh of the first sharding that is not on a single device, as written in the sharding."""
    for sharding in shardings:
        if sharding is not None and not is_on_single_device(sharding, meshes):
            return sharding.mesh
    return None


def is_on_single_device(sharding: TensorSharding, meshes: MeshTable) -> bool:
    """Return whether the sharding is on a maximal mesh, which has a single device."""
    mesh = resolve_mesh(sharding.mesh, meshes)
    return mesh is not None and mesh.is_maximal


def _completed(
    shardings: Sequence[TensorSharding | None], types: Sequence[Attribute], meshes: MeshTable
) -> ValueShardings | None:
    mesh = first_usable_mesh(shardings, meshes)
    if mesh is None:
        return None
    return tuple(
        sharding or fully_open(mesh, rank_of_type(value_type))
        for sharding, value_type in zip(shardings, types, strict=True)
    )


def _sharding_in(attrs: ArrayAttr[DictionaryAttr] | None, index: int) -> TensorSharding | None:
    attr = attribute_of(attrs, index, SHARDING)
    return attr.data if isinstance(attr, TensorShardingAttr) else None


def remove_function_result_sharding(func: FuncOp, index: int) -> None:
    """Remove the sharding of result `index`."""
    if func.res_attrs is not None:
        entries = list(func.res_attrs.data)
        entries[index] = DictionaryAttr({name: attr for name, attr in entries[index].data.items() if name != SHARDING})
        func.res_attrs = ArrayAttr(entries)
