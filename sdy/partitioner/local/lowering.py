"""What the local forms share: the shardings of the whole program, its meshes, and where new ops go.

Shardings are read once, from the program before anything was changed; a value that replaces another one inherits
its sharding. Source: docs/spec/06, 1.1 to 1.5.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, resolve_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.on_shards.agreement import OpLayouts, ShardedLayout, disagreement, same_layout
from sdy.partitioner.on_shards.shard_rules import known_rule, rule_for_shard_counts

LocalForm = Callable[["Lowering"], None]  # turns one op of a program into what it is on one shard
Check = Callable[["Lowering"], None]  # raises where an op of a program has no form on its shards


class Lowering:
    """A module on its way to the program of one device."""

    def __init__(self, module: ModuleOp, style: Style) -> None:
        self._meshes = meshes_of(module)
        self.style = style
        self._shardings: dict[SSAValue, TensorSharding] = {}
        # By the identity of the whole type, which is kept, so that its identity stays its own.
        self._local_types: dict[tuple[int, TensorSharding], tuple[Attribute, Attribute]] = {}
        self._to_inline: list[ManualComputationOp] = []
        for op in pre_order(module):
            for value in (*op.results, *(argument for region in op.regions for argument in _arguments(region))):
                sharding = sharding_of(value)
                if sharding is not None:
                    self._shardings[value] = sharding
                    self.local_type(value.type, sharding, op)
            handle = {**op.properties, **op.attributes}.get("channel_handle")
            if isinstance(handle, ChannelHandleAttr):
                style.channels.last = max(style.channels.last, handle.data.handle)
        self.functions = functions_of(module)
        for func in self.functions.values():
            self.signature(func)

    # What is known of the whole program

    def sharding(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of `value` in the whole program."""
        return self._shardings.get(value)

    def mesh(self, sharding: TensorSharding) -> Mesh:
        """The mesh of a sharding of the program, which is verified."""
        mesh = resolve_mesh(sharding.mesh, self._meshes)
        assert mesh is not None
        return mesh

    def on(self, sharding: TensorSharding) -> CommonMesh:
        """The mesh of a sharding, and how the sharding refers to it."""
        return CommonMesh(self.mesh(sharding), sharding.mesh)

    def dim_axes(self, value: SSAValue, dim: int) -> AxisList:
        """The axes that cut `dim` of `value`."""
        sharding = self.sharding(value)
        return sharding.dims[dim].axes if sharding is not None and sharding.dims else ()

    def shard_count(self, value: SSAValue, dim: int) -> int:
        """Into how many pieces `dim` of `value` is cut."""
        sharding = self.sharding(value)
        return 1 if sharding is None else sharded_size(self.dim_axes(value, dim), self.mesh(sharding))

    def is_sharded(self, value: SSAValue) -> bool:
        """Whether some dim of `value` is cut."""
        sharding = self.sharding(value)
        return sharding is not None and not sharding.is_fully_replicated

    def layout(self, sharding: TensorSharding | None) -> ShardedLayout | None:
        """Which elements each device has of a tensor with the sharding."""
        if sharding is None or sharding.is_fully_replicated:
            return None
        return ShardedLayout(sharding, self.mesh(sharding))

    # Whether an op can run on shards

    def check_agreement(self, op: Operation, rule: OpShardingRule | None = None) -> None:
        """Raises: SdyError where the tensors of `op` are cut, and the rule does not let each device work alone.

        Without a rule that of the op counts.
        """
        layouts = tuple(self.layout(self.sharding(value)) for value in (*op.operands, *op.results))
        if not any(layouts):
            return
        rule = rule or known_rule(op)
        if rule is None:
            message = f"{op.name} on cut tensors has no form for one shard"
            hint = "put sdy.sharding_constraint on its operands and results, with no axes in any dim"
            raise SdyError(Diagnostic("SDY-L001", message, span_of(op), hint=hint))
        found = disagreement(rule, layouts)
        if found is not None:
            self._raise_disagreement(op, layouts, found.first, found.second)

    def check_on_shards(self, op: Operation) -> None:
        """Raises: SdyError where the first operand of `op` is cut along a dim that its local form must have whole, or
        the tensors do not agree.
        """
        first = op.operands[0]
        if not self.is_sharded(first):
            self.check_agreement(op)
            return
        counts = [self.shard_count(first, dim) for dim in range(len(shape_of(first)))]
        self.check_agreement(op, rule_for_shard_counts(op, counts))

    def _raise_disagreement(self, op: Operation, layouts: OpLayouts, first: int, second: int) -> None:
        texts = [f"{_tensor_name(op, place)} {_layout_text(layouts[place])}" for place in (first, second)]
        if first == second:
            message = f"{op.name} mixes elements of different shards of {texts[0]}"
            hint = "reshard the tensor so that the dim is whole on every device"
            raise SdyError(Diagnostic("SDY-L011", message, span_of(op), hint=hint))
        message = f"{op.name}: {texts[0]} and {texts[1]} are cut differently along what they share"
        hint = "run sdy-insert-explicit-reshards{enable-full-version=true} first"
        raise SdyError(Diagnostic("SDY-L002", message, span_of(op), hint=hint))

    def check_operand_sharding(self, op: Operation, index: int, target: TensorSharding | None, receiver: str) -> None:
        """Raises: SdyError where operand `index` is not cut as its receiver has it."""
        self.check_same_layout(op, (f"operand {index}", self.sharding(op.operands[index])), (receiver, target))

    def check_same_layout(
        self, op: Operation, one: tuple[str, TensorSharding | None], other: tuple[str, TensorSharding | None]
    ) -> None:
        """Raises: SdyError where two tensors that are one and the same, each with its name, are cut differently."""
        if one[1] != other[1] and not same_layout(self.layout(one[1]), self.layout(other[1])):
            texts = [f"{name} {_sharding_text(sharding)}" for name, sharding in (one, other)]
            message = f"{op.name}: {texts[0]} and {texts[1]} are one value, and cut differently"
            raise SdyError(Diagnostic("SDY-L013", message, span_of(op), hint="insert an explicit reshard between them"))

    # Types

    def local_type(self, value_type: Attribute, sharding: TensorSharding | None, op: Operation) -> Attribute:
        """The type of one shard. Raises: SdyError SDY-L003 where a dim does not divide; `op` is who is told."""
        if sharding is None or sharding.is_fully_replicated:
            return value_type
        known = self._local_types.get((id(value_type), sharding))
        if known is None:
            local = local_type(value_type, sharding, self.mesh(sharding), allow_uneven=False)
            if local is None:
                message = f"{op.name}: a dim of {value_type} does not divide by its axes in {write_sharding(sharding)}"
                hint = "run sdy-pad-for-divisibility first, or use axes whose size divides the dim"
                raise SdyError(Diagnostic("SDY-L003", message, span_of(op), hint=hint))
            known = self._local_types[id(value_type), sharding] = value_type, local
        return known[1]

    def make_local(self, value: SSAValue, op: Operation) -> None:
        """Give `value`, which belongs to `op`, the type of one shard."""
        set_type(value, self.local_type(value.type, self.sharding(value), op))

    def make_arguments_local(self, op: Operation) -> None:
        """Give the block arguments of `op` the types of one shard."""
        for region in op.regions:
            for argument in _arguments(region):
                self.make_local(argument, op)

    def signature(self, func: FuncOp) -> FunctionType:
        """The type of a function of shards."""
        inputs, outputs = func.function_type.inputs, func.function_type.outputs
        return FunctionType.from_lists(
            [self.local_type(each, argument_sharding(func, index), func) for index, each in enumerate(inputs)],
            [self.local_type(each, function_result_sharding(func, index), func) for index, each in enumerate(outputs)],
        )

    # Changing the program

    def emitter(self, before: Operation) -> Emitter:
        """Emits in front of `before`."""
        return Emitter(before, self.style)

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Let `values` stand for the results of `op`, which goes."""
        for result, value in zip(op.results, values, strict=True):
            sharding = self._shardings.pop(result, None)
            if sharding is not None:
                self._shardings[value] = sharding
            result.replace_all_uses_with(value)
        op.detach()
        op.erase()

    def inline_when_finished(self, op: ManualComputationOp) -> None:
        """Put the body of `op` in its place once all is lowered: till then values in it have shardings of their own."""
        self._to_inline.append(op)

    def finish(self) -> None:
        """Do what had to wait, inner computations before those around them."""
        for op in reversed(self._to_inline):
            block = op.body.block
            terminator = block.last_op
            assert terminator is not None  # verified
            Rewriter.inline_block(block, InsertPoint.before(op), op.operands)
            for result, value in zip(op.results, terminator.operands, strict=True):
                result.replace_all_uses_with(value)
            terminator.detach()
            terminator.erase()
            op.detach()
            op.erase()


def _arguments(region: Region) -> list[SSAValue]:
    return [argument for block in region.blocks for argument in block.args]


def _tensor_name(op: Operation, place: int) -> str:
    count = len(op.operands)
    return f"operand {place}" if place < count else f"result {place - count}"


def _layout_text(layout: ShardedLayout | None) -> str:
    return _sharding_text(None if layout is None else layout.sharding)


def _sharding_text(sharding: TensorSharding | None) -> str:
    return "whole on every device" if sharding is None else write_sharding(sharding)
