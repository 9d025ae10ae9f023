"""Partition selected instructions one at a time, each in its own manual computation.

    before  %0 = stablehlo.add %a, %b {[{"x"}]} : tensor<8xf32>
    after   %0 = sdy.manual_computation(%a, %b) ... manual_axes={"x"} (%c: tensor<4xf32>, %d: tensor<4xf32>) {
              %1 = stablehlo.add %c, %d : tensor<4xf32>  ...

Requires: explicit reshards. Ensures: the instructions that the filter selects run on shards.
Source: docs/spec/06, 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.data_flow import op_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import ManualAxesAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import (
    DataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ReshardOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
from sdy.dialects.sdy.ops import ReturnOp as SdyReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_argument_sharding, set_function_result_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.grammar.write import write_sharding
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, common_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.emit.emitter import Emitter, Properties, Style
from sdy.partitioner.emit.sharded_emitter import padded_to, trimmed_to, zero_scalar
from sdy.passes.export.local.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.local.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.reshards.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.device_counts import device_style, last_channel
from sdy.passes.rewriting.insertion import erase, insert
from sdy.upstream.halo.exchange import rounded_up, shard_counts
from sdy.upstream.halo.resolve import ResolvePermutationFactorsPass
from sdy.upstream.padding import pad_module
from sdy.upstream.unshard_unsupported_ops import unshard_unsupported_ops

Shardings = tuple[TensorSharding, ...]
CHANNEL = "channel_handle"

# Ops that are not partitioned: communication, and ops that only describe shardings.
NO_INSTRUCTIONS = (
    CollectiveOp,
    DataFlowEdgeOp,
    ManualComputationOp,
    MeshOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
SHARDING_TARGETS = frozenset({"Sharding", "mhlo.sharding"})


@dataclass(frozen=True)
class PerInstructionPartitioningPass(ModulePass):
    """Partition the instructions that the filter selects; an empty filter selects all."""

    name = "sdy-per-instruction-partitioning"

    filter: str = ""
    enable_halo_exchange: bool = True
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Number all instructions of the module, then partition the selected ones."""
        style = device_style(op, self.replica_count, self.partition_count)
        chosen = parse_filter(self.filter)
        numbered = enumerate(_instructions(op))
        selected = [each for number, each in numbered if chosen.selects(number, each.name)]
        partitioner = InstructionPartitioner(
            ctx, op, style, self.enable_halo_exchange, (self.replica_count, self.partition_count)
        )
        for each in selected:
            partitioner.partition(each)


def _instructions(module: ModuleOp) -> list[Operation]:
    """Return the partitionable ops at the top level of functions, in order."""
    ops = [op for func in functions_of(module).values() for block in func.body.blocks for op in block.ops]
    return [op for op in ops if _is_instruction(op)]


def _is_instruction(op: Operation) -> bool:
    if isinstance(op, NO_INSTRUCTIONS) or op.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    if isinstance(op, CustomCallOp) and op.call_target_name.data in SHARDING_TARGETS:
        return False
    shardings = (sharding_of(value) for value in (*op.operands, *op.results))
    return any(sharding is not None and not sharding.has_no_axes for sharding in shardings)


_LOW, _HIGH = "selectLow=", "selectHigh="


@dataclass(frozen=True, slots=True)
class InstructionFilter:
    """Selects instructions `low` to `high`, inclusive, whose name contains one of `names`; None and () do not limit."""

    low: int | None = None
    high: int | None = None
    names: tuple[str, ...] = ()

    def selects(self, number: int, name: str) -> bool:
        """Return whether to partition the instruction with this index, counted from 0.

        >>> parse_filter("dot, selectHigh=3").selects(2, "stablehlo.dot_general")
        True
        """
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return False
        return not self.names or any(part in name for part in self.names)


def parse_filter(text: str) -> InstructionFilter:
    """Parse a filter such as `dot, selectLow=3`, optionally quoted; a negative or invalid number does not limit.

    Source: docs/spec/06, 5.2.
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    low: int | None = None
    high: int | None = None
    names: list[str] = []
    for token in filter(None, map(str.strip, text.split(","))):
        if token.startswith(_LOW):
            low = _limit(token.removeprefix(_LOW), low)
        elif token.startswith(_HIGH):
            high = _limit(token.removeprefix(_HIGH), high)
        else:
            names.append(token)
    return InstructionFilter(low, high, tuple(names))


def _limit(text: str, otherwise: int | None) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return otherwise
    return None if number < 0 else number


class InstructionPartitioner:
    """Partitions instructions of one module, one at a time.

    Source: docs/spec/06, 5.3 and 8.4 (G83 to G85).
    """

    def __init__(self, ctx: Context, module: ModuleOp, style: Style, exchanges: bool, counts: tuple[int, int]) -> None:
        self._ctx = ctx
        self._module = module
        self._style = style
        self._exchanges = exchanges
        self._counts = counts
        self._meshes = meshes_of(module)
        self._names = UniqueNames(module)

    def partition(self, op: Operation) -> None:
        """Replace `op` by a manual computation. Calls, and ops whose regions capture values, are left unchanged."""
        if isinstance(op, CallOp) or _captures(op) or any(static_shape(each.type) is None for each in _values(op)):
            return
        on = self._common_mesh(op)
        ins = tuple(self._completed(operand, on) for operand in op.operands)
        outs = tuple(replace(self._completed(result, on), unreduced=()) for result in op.results)
        # A reshard does not move elements, so it can be padded for both of its shardings.
        shared = outs if isinstance(op, ReshardOp) else ()
        emit = Emitter(op, self._style)
        operands = [
            _padded(emit, operand, _even_sizes(operand, (sharding, *shared), on.mesh), sharding)
            for operand, sharding in zip(op.operands, ins, strict=True)
        ]
        outlined = self._outlined(op, operands if shared else op.operands, (ins, outs))
        manual = self._lowered(outlined, emit, operands, (ins, outs))
        for result, value, sharding in zip(op.results, manual.results, outs, strict=True):
            sizes = shape_of(result)
            whole = value if shape_of(value) == sizes else trimmed_to(emit, value, sizes, sharding)
            result.replace_all_uses_with(whole)
        erase(op)

    def _common_mesh(self, op: Operation) -> CommonMesh:
        """Return the mesh of all tensors of `op`, and its name.

        Raises: SdyError SDY-L018 if they have no common mesh.
        """
        shardings = [sharding_of(value) for value in _values(op)]
        common = common_mesh(shardings, self._meshes)
        if common is None:
            texts = [write_sharding(sharding) for sharding in shardings if sharding is not None]
            message = f"tensors of {op.name} must be on one mesh, got {', '.join(dict.fromkeys(texts))}"
            raise SdyError(Diagnostic("SDY-L018", message, span_of(op), hint="exclude the op by the filter"))
        return CommonMesh(common.mesh, self._name_of(common))

    def _name_of(self, on: CommonMesh) -> str:
        if isinstance(on.reference, str):
            return on.reference
        name = next((name for name, mesh in self._meshes.items() if mesh == on.mesh), None)
        if name is None:
            name = self._names.new("mesh")
            self._meshes = {**self._meshes, name: on.mesh}
            insert(MeshOp(name, on.mesh), InsertPoint.at_start(self._module.body.block), self._module.location)
        return name

    def _completed(self, value: SSAValue, on: CommonMesh) -> TensorSharding:
        sharding = sharding_of(value)
        if sharding is None:
            return fully_closed(on.reference, rank_of_type(value.type))
        return sharding if isinstance(sharding.mesh, str) else replace(sharding, mesh=on.reference)

    # The module of one instruction

    def _outlined(self, op: Operation, operands: Sequence[SSAValue], shardings: tuple[Shardings, Shardings]) -> FuncOp:
        """Return a function that applies `op`, in a new module with all meshes."""
        block = Block(arg_types=[operand.type for operand in operands])
        copy = op.clone()
        copy.operands = block.args  # one argument per operand, even if a value is used twice
        if isinstance(op, ReshardOp):  # its tensors may be padded
            copy = ReshardOp.create(
                operands=block.args, result_types=[operands[0].type], properties=dict(op.properties)
            )
        returned = ReturnOp(*copy.results)
        for each in (copy, returned):
            each.location = op.location
            block.add_op(each)
        signature = FunctionType.from_lists(list(block.arg_types), list(copy.result_types))
        func = FuncOp("instruction", signature, Region(block), visibility="private")
        func.location = op.location
        ins, outs = shardings
        for index, sharding in enumerate(ins):
            set_argument_sharding(func, index, sharding)
        for index, sharding in enumerate(outs):
            set_function_result_sharding(func, index, sharding)
        ModuleOp([*(MeshOp(name, mesh) for name, mesh in self._meshes.items()), func])
        return func

    def _lowered(
        self, func: FuncOp, emit: Emitter, operands: Sequence[SSAValue], shardings: tuple[Shardings, Shardings]
    ) -> ManualComputationOp:
        """Partition the function, and move its body into a manual computation on the operands."""
        module = func.parent_op()
        assert isinstance(module, ModuleOp)
        replicas, partitions = self._counts
        for each in (
            ResolvePermutationFactorsPass(self._exchanges, replicas, partitions),
            InsertExplicitReshardsPass(enable_full_version=True),
            ReshardToCollectivesPass(),
        ):
            each.apply(self._ctx, module)
        pad_module(module, pads_arguments=True)
        returned = func.body.block.last_op
        assert returned is not None
        result_types = returned.operand_types
        func.function_type = FunctionType.from_lists(list(func.body.block.arg_types), list(result_types))
        unshard_unsupported_ops(module)
        for each in (
            ConvertGlobalToLocalPass(replica_count=replicas, partition_count=partitions),
            DropShardingAndMeshPass(),
        ):
            each.apply(self._ctx, module)
        self._renumber_channels(module)
        return _manual_computation(func, emit, operands, result_types, shardings)

    def _renumber_channels(self, module: ModuleOp) -> None:
        """Renumber the channels of the instruction after all existing ones."""
        first = self._style.channels.last
        for op in pre_order(module):
            handle = op.properties.get(CHANNEL)
            if isinstance(handle, ChannelHandleAttr):
                channel = handle.data._replace(handle=handle.data.handle + first)
                op.properties[CHANNEL] = ChannelHandleAttr(channel)
        self._style.channels.last = max(first, last_channel(module))


def _manual_computation(
    func: FuncOp,
    emit: Emitter,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    shardings: tuple[Shardings, Shardings],
) -> ManualComputationOp:
    """Return the body of the local function as a manual computation."""
    block = func.body.block
    returned = terminator_of(func.body)
    terminator = SdyReturnOp(*returned.operands)
    terminator.location = returned.location
    block.insert_op_before(terminator, returned)
    erase(returned)
    func.body.detach_block(block)
    ins, outs = shardings
    names = dict.fromkeys(ref.name for sharding in (*ins, *outs) for ref in sharding.axis_refs())
    properties: Properties = {
        "in_shardings": TensorShardingPerValueAttr(ins),
        "out_shardings": TensorShardingPerValueAttr(outs),
        "manual_axes": ManualAxesAttr(tuple(names)),
    }
    return emit.op(ManualComputationOp, operands, result_types, properties, [Region(block)])


def _even_sizes(value: SSAValue, shardings: Sequence[TensorSharding], mesh: Mesh) -> tuple[int, ...]:
    """Return the sizes of `value` rounded up to multiples for all of the shardings."""
    each = [rounded_up(shape_of(value), shard_counts(sharding, mesh)) for sharding in shardings]
    return tuple(max(column) for column in zip(*each, strict=True))


def _padded(emit: Emitter, value: SSAValue, sizes: tuple[int, ...], sharding: TensorSharding) -> SSAValue:
    if sizes == shape_of(value):
        return value
    return padded_to(emit, value, zero_scalar(emit, value), sizes, sharding)


def _values(op: Operation) -> tuple[SSAValue, ...]:
    return (*op.operands, *op.results)


def _captures(op: Operation) -> bool:
    """Return whether a region of `op` captures a value."""
    inside = pre_order(op)
    own = {op, *inside}
    return any(op_of(value) not in own for inner in inside for value in inner.operands)
