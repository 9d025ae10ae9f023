"""Run ops that are placed on one device only there, and send the result to all other devices.

    before  %2 = stablehlo.add %0, %1 {[<@device_1, []>]}
    after   %3 = stablehlo.compare EQ, %number_of_this_device, %one
            %4 = "stablehlo.if"(%3) ({ stablehlo.add %0, %1 ... }, { zeros })
            %5 = sdy.all_reduce {"x"} %4 out_sharding=<@mesh, [{}, {}]>

An op without results, such as a callback, may have one sharding nevertheless: then it runs on that device only.
Requires: explicit reshards to the device and back, which may have been merged with others; replicated operands of ops
without results. Ensures: no op is on one device.
Source: docs/spec/06, 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import post_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import SHARDING, is_on_single_device, result_shardings, sharding_of
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import TokenType, as_tensor
from sdy.dialects.stablehlo.calls import is_callback_on_shards
from sdy.dialects.stablehlo.control import IfOp, ReturnOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.dialects.stablehlo.tokens import CreateTokenOp
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.emit.device_position import device_number
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.on_shards.combiners import identity_element
from sdy.passes.export.single_device.single_device import device_mesh, global_mesh
from sdy.passes.rewriting.device_counts import device_style
from sdy.passes.rewriting.insertion import erase, replace_by


@dataclass(frozen=True)
class ResolveSingleDeviceShardingPass(ModulePass):
    """Guard ops that are placed on one device by a comparison of the device number."""

    name = "sdy-resolve-single-device-sharding"

    replica_count: int = 1
    partition_count: int = 1
    keep_zero_signs: bool = False  # sum with -0.0, so that -0.0 stays -0.0
    only_where_used: bool = False  # do not send results that no other device uses

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Collect the ops of each function first, those in regions before their parent op."""
        style = device_style(op, self.replica_count, self.partition_count)
        style = replace(style, keeps_zero_signs=self.keep_zero_signs)
        meshes = meshes_of(op)
        everywhere = global_mesh(op)
        if everywhere is None:
            return
        guard = _Guard(CommonMesh(meshes[everywhere], everywhere), meshes, style, self.only_where_used)
        for func in functions_of(op).values():
            found = [
                (inner, _device_of(inner, meshes)) for inner in post_order(func) if inner.dialect_name() != SDY.name
            ]
            for inner, device in found:
                if device is not None:
                    _check_unsharded(inner, device)
                    guard.run_on(inner, meshes[device].device_ids[0])
        guard.erase_unused()


def _device_of(op: Operation, meshes: Mapping[str, Mesh]) -> str | None:
    """Return the name of the single-device mesh on which `op` runs; None if it runs on all devices."""
    if op.results:
        return device_mesh(op, meshes)
    if is_callback_on_shards(op):  # JAX places the call on one device, but XLA runs it on all
        return None
    for sharding in result_shardings(op) or ():
        if isinstance(sharding.mesh, str) and is_on_single_device(sharding, meshes):
            return sharding.mesh
    return None


def _check_unsharded(op: Operation, device: str) -> None:
    """Check results. Raises: SdyError SDY-L016 if a result of an op on one device is sharded."""
    for sharding in result_shardings(op) or ():
        if not sharding.is_fully_replicated:
            message = f"{op.name} has a result on the device of @{device} and a sharded one: "
            message += write_sharding(sharding)
            hint = "run sdy-insert-explicit-reshards first, which reshards such results"
            raise SdyError(Diagnostic("SDY-L016", message, span_of(op), hint=hint))


class _Guard:
    """Moves ops into branches that only one device takes."""

    def __init__(self, on: CommonMesh, meshes: Mapping[str, Mesh], style: Style, only_where_used: bool) -> None:
        self._on = on
        self._meshes = meshes
        self._style = style
        self._only_where_used = only_where_used
        # For each result that is sent to all devices: the device, and its own result, which the others do not have.
        self._own: dict[SSAValue, tuple[int, SSAValue]] = {}

    def run_on(self, op: Operation, device: int) -> None:
        """Move `op` into a branch that only `device` takes, and sum the results of all devices."""
        emit = Emitter(op, self._style)
        number = device_number(emit)
        is_here = emit.compare(ComparisonDirection.EQ, number, emit.constant(TensorType(i64, []), [device]))
        bypassed = _reshards_to_device(op, self._meshes)
        mapper = {each.result: self._on_device(emit, each.input, device) for each in bypassed}
        mapper |= {each: self._on_device(emit, each, device) for each in op.operands if each in self._own}
        copy = op.clone(value_mapper=mapper)
        copy.attributes = {name: attr for name, attr in copy.attributes.items() if name != SHARDING}
        copy.location = op.location
        here, elsewhere = Block([copy]), Block()
        _terminate(here, copy.results, op)
        _terminate(elsewhere, _zeros(elsewhere, op, self._style), op)
        result = emit.op(IfOp, [is_here], op.result_types, regions=[Region(here), Region(elsewhere)])
        for before, after in zip(op.results, result.results, strict=True):
            shared = _shared(emit, after, self._on)
            if self._only_where_used and shared is not after:
                self._own[shared] = device, after
            _replace(before, shared, self._on)
        erase(op)
        for each in bypassed:
            if not each.result.uses:
                erase(each)

    def _on_device(self, emit: Emitter, value: SSAValue, device: int) -> SSAValue:
        """Return a value as `device` has it; the others may have another one."""
        own_device, own = self._own.get(value, (None, value))
        return own if own_device == device else _copies(emit, value, self._on)

    def erase_unused(self) -> None:
        """Erase the all-reduces that send results which no other device uses."""
        for shared in self._own:
            for use in tuple(shared.uses):
                if isinstance(use.operation, ReshardOp) and use.operation.result.first_use is None:
                    erase(use.operation)
            if shared.first_use is None and isinstance(shared.owner, Operation):
                erase(shared.owner)


def _copies(emit: Emitter, value: SSAValue, on: CommonMesh) -> SSAValue:
    """Return the value, replicated on all devices; canonicalization may have removed the reshard that copies it."""
    sharding = sharding_of(value)
    if sharding is None or sharding.is_fully_replicated:
        return value
    return emit.add(ReshardOp(value, fully_closed(on.reference, rank_of_type(value.type))))


def _reshards_to_device(op: Operation, meshes: Mapping[str, Mesh]) -> list[ReshardOp]:
    """Return the reshards of operands to the device, without duplicates; the device already holds the values."""
    owners = dict.fromkeys(operand.owner for operand in op.operands)
    return [
        owner for owner in owners if isinstance(owner, ReshardOp) and is_on_single_device(owner.sharding.data, meshes)
    ]


def _terminate(block: Block, values: tuple[SSAValue, ...] | list[SSAValue], op: Operation) -> None:
    terminator = ReturnOp.create(operands=values)
    terminator.location = op.location
    block.add_op(terminator)


def _zeros(block: Block, op: Operation, style: Style) -> list[SSAValue]:
    """Append zeros or tokens for each result of `op` to the block."""
    values: list[SSAValue] = []
    for result in op.results:
        new = _zeros_of(result, op, style)
        new.location = op.location
        block.add_op(new)
        values.append(new.results[0])
    return values


def _zeros_of(result: SSAValue, op: Operation, style: Style) -> Operation:
    if isinstance(result.type, TokenType):
        return CreateTokenOp.create(result_types=[result.type])
    tensor = as_tensor(result.type)
    if tensor is None:
        message = f"{op.name} returns {result.type}, which cannot be sent from one device to the others"
        raise SdyError(Diagnostic("SDY-L016", message, span_of(op), hint="return its tensors one by one"))
    zero = identity_element(AddOp, tensor.element_type) if style.keeps_zero_signs else 0
    zeros = DenseElementsAttr.from_values(tensor, [zero])
    return ConstantOp.create(result_types=[tensor], properties={"value": zeros})


def _shared(emit: Emitter, value: SSAValue, on: CommonMesh) -> SSAValue:
    """Return the value of the one device, on all devices."""
    tensor = as_tensor(value.type)
    if tensor is None:
        return value
    axes = tuple(AxisRef(axis.name) for axis in on.mesh.axes)
    return emit.add(AllReduceOp(value, axes, fully_closed(on.reference, rank_of_type(tensor))))


def _replace(result: SSAValue, shared: SSAValue, on: CommonMesh) -> None:
    """Replace a result, and the reshards that copy it to all devices, by `shared`."""
    copies = fully_closed(on.reference, rank_of_type(result.type))
    for use in tuple(result.uses):
        user = use.operation
        if isinstance(user, ReshardOp) and user.sharding.data == copies:
            replace_by(user, shared)
    result.replace_all_uses_with(shared)
