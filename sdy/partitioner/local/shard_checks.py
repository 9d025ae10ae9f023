"""Checks that each device can run an op on its shards alone, with the diagnostics for ops that cannot.

Source: docs/spec/06, 1.1 to 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.grammar.write import write_sharding
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Style
from sdy.partitioner.on_shards.agreement import OpLayouts, ShardedLayout, disagreement, same_layout
from sdy.partitioner.on_shards.shard_rules import known_rule, rule_for_shard_counts
from sdy.partitioner.on_shards.value_shardings import ValueShardings


@dataclass(frozen=True, slots=True)
class ShardChecks:
    """The checks of the ops of one module, none of which has been lowered yet. `functions` are those of the module."""

    shardings: ValueShardings
    style: Style
    functions: Mapping[str, FuncOp]

    def check_agreement(self, op: Operation, rule: OpShardingRule | None = None) -> None:
        """Check that `rule` lets each device run `op` on its shards alone. The default is the rule of `op`.

        Raises: SdyError SDY-L001 if `op` has sharded tensors and no rule, SDY-L002 if two tensors disagree, SDY-L011 if
        `op` mixes elements of different shards.
        """
        layouts = tuple(self.shardings.layout(self.shardings.of(value)) for value in (*op.operands, *op.results))
        if not any(layouts):
            return
        rule = rule or known_rule(op)
        if rule is None:
            message = f"{op.name} has no local form for sharded tensors"
            hint = "constrain its operands and results to shardings without axes (sdy.sharding_constraint)"
            raise SdyError(Diagnostic("SDY-L001", message, span_of(op), hint=hint))
        found = disagreement(rule, layouts)
        if found is not None:
            _raise_disagreement(op, layouts, found.first, found.second)

    def check_on_shards(self, op: Operation) -> None:
        """Check `op` with the rule for the shard counts of its first operand.

        Raises: SdyError if the first operand is sharded along a dim that the local form requires to be unsharded, or if
        the tensors disagree.
        """
        first = op.operands[0]
        if not self.shardings.is_sharded(first):
            self.check_agreement(op)
            return
        self.check_agreement(op, rule_for_shard_counts(op, self.shardings.shard_counts(first)))

    def check_operand_sharding(self, op: Operation, index: int, target: TensorSharding | None, receiver: str) -> None:
        """Check that operand `index` has the sharding of the value that receives it.

        Raises: SdyError SDY-L013.
        """
        self.check_same_layout(op, (f"operand {index}", self.shardings.of(op.operands[index])), (receiver, target))

    def check_same_layout(
        self, op: Operation, first: tuple[str, TensorSharding | None], second: tuple[str, TensorSharding | None]
    ) -> None:
        """Check that the shardings of two values, each with the name of its value, put the same shards on all devices.

        Raises: SdyError SDY-L013.
        """
        (name, sharding), (other_name, other) = first, second
        if sharding != other and not same_layout(self.shardings.layout(sharding), self.shardings.layout(other)):
            message = (
                f"{op.name}: {name} and {other_name} must have the same sharding, "
                f"got {_sharding_text(sharding)} and {_sharding_text(other)}"
            )
            raise SdyError(Diagnostic("SDY-L013", message, span_of(op), hint="insert an explicit reshard between them"))


def check_nothing(op: Operation, checks: ShardChecks) -> None:
    """Check nothing: the op has a local form for any shardings, or another check covers it."""
    del op, checks


def _raise_disagreement(op: Operation, layouts: OpLayouts, first: int, second: int) -> None:
    texts = [f"{_tensor_name(op, index)} with sharding {_layout_text(layouts[index])}" for index in (first, second)]
    if first == second:
        message = f"{op.name} mixes elements of different shards of {texts[0]}"
        hint = "reshard the tensor so that the dim is unsharded"
        raise SdyError(Diagnostic("SDY-L011", message, span_of(op), hint=hint))
    if (meshes := _different_meshes(layouts[first], layouts[second])) is not None:
        message = f"{op.name}: {texts[0]} and {texts[1]} must be on the same devices, got {meshes}"
        hint = "put all values of the program on one mesh, or on meshes of the same devices"
        raise SdyError(Diagnostic("SDY-L002", message, span_of(op), hint=hint))
    message = f"{op.name}: {texts[0]} and {texts[1]} must be sharded along the same axes in the dims that they share"
    hint = "run sdy-insert-explicit-reshards{enable-full-version=true} first"
    raise SdyError(Diagnostic("SDY-L002", message, span_of(op), hint=hint))


def _different_meshes(first: ShardedLayout | None, second: ShardedLayout | None) -> str | None:
    """Return the numbers of devices of two layouts, if they differ."""
    counts = [0 if layout is None else layout.mesh.device_count for layout in (first, second)]
    return None if 0 in counts or counts[0] == counts[1] else f"meshes of {counts[0]} and {counts[1]} devices"


def _tensor_name(op: Operation, index: int) -> str:
    count = len(op.operands)
    return f"operand {index}" if index < count else f"result {index - count}"


def _layout_text(layout: ShardedLayout | None) -> str:
    return _sharding_text(None if layout is None else layout.sharding)


def _sharding_text(sharding: TensorSharding | None) -> str:
    return "replicated" if sharding is None else write_sharding(sharding)
