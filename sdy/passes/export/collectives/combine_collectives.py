"""Combine collectives of one kind that do not depend on each other into one with several operands.

    before  %2 = "stablehlo.all_reduce"(%0) ({ add })      after  %3 = stablehlo.multiply %1, %1
            %3 = stablehlo.multiply %1, %1                        %2, %4 = "stablehlo.all_reduce"(%0, %3) ({ add })
            %4 = "stablehlo.all_reduce"(%3) ({ add })

The same bytes are sent by fewer collectives. All-reduces and all-gathers are combined, since StableHLO allows them
several operands. Users of a result move after the combined op; the peak memory does not grow.
Requires and ensures: the program of one device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, RecursiveMemoryEffect, is_side_effect_free

from sdy.cost.allocation.buffers import Buffers
from sdy.cost.lifetimes import LifetimeStep
from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.cost.traffic import kind_of
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandleAttr
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.collectives import AllReduceOp, CombinableOp
from sdy.partitioner.combining.groups import Candidate
from sdy.partitioner.combining.order import BlockOps
from sdy.partitioner.combining.within_memory import combined_order
from sdy.passes.rewriting.call_graph import callee_name, callees_first
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import forget_order, op_order
from sdy.passes.rewriting.structural_hash import StructuralHash, uses_inside


@dataclass(frozen=True)
class CombineCollectivesPass(ModulePass):
    """Combine the collectives of each block, callers before callees."""

    name = "sdy-combine-collectives"

    most_bytes: int = 2**25  # of results of one collective; sending so many takes far longer than its latency

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Combine the collectives, if a block has two that may be combined."""
        counts = Counter(inner.parent for inner in op_order(op).ops if isinstance(inner, CombinableOp))
        if any(count > 1 for count in counts.values()):
            _Combiner(ctx, op, self.most_bytes).run()
            forget_order(op)


class _Combiner:
    """Combines the collectives of a module, with a limit of live bytes per block, so that no peak grows."""

    def __init__(self, ctx: Context, module: ModuleOp, most_bytes: int) -> None:
        self._ctx = ctx
        self._functions = {func.sym_name.data: func for func in callees_first(module)}
        self._most_bytes = most_bytes
        self._peaks = PeakFinder(module, bytes_of_tensor, Buffers(module, is_compiled=False))
        self._needs = Dependences(module)
        self._structure = StructuralHash()
        self._most_alive: dict[Block, int] = {}

    def run(self) -> None:
        """Visit callers first: they determine the memory limit of their callees."""
        for func in self._functions.values():
            self._peaks.of_function(func)  # before any change
        for func in reversed(self._functions.values()):
            pending = list(func.body.blocks)
            while pending:
                for op, most_alive in self._combine(pending.pop()):
                    inner = self._inner_blocks(op)
                    self._allow(inner, most_alive)
                    pending += () if isinstance(op, CallOp) else inner

    def _inner_blocks(self, op: Operation) -> list[Block]:
        callee = self._functions.get(callee_name(op)) if isinstance(op, CallOp) else None
        return [block for region in (callee or op).regions for block in region.blocks]

    def _allow(self, blocks: Iterable[Block], most_alive: int) -> None:
        for block in blocks:
            self._most_alive[block] = min(most_alive, self._most_alive.get(block, most_alive))

    def _combine(self, block: Block) -> list[tuple[Operation, int]]:
        """Combine the ops of a block; return the ops with inner blocks to visit, and the limit of live bytes there."""
        ops, lives = list(block.ops), self._peaks.lives(block)
        needs = self._needs.of(ops, lives.steps)
        program = BlockOps(lives.allocated, lives.steps, needs, self._peaks.bytes_of)
        most_alive = self._most_alive.get(block)
        if most_alive is None:  # not called
            most_alive = self._peaks.of_block(block)
        candidates = [
            Candidate(index, self._kind(op), sum(map(bytes_of_tensor, op.results)))
            for index, op in enumerate(ops)
            if isinstance(op, CombinableOp) and not uses_inside(op)
        ]
        order = combined_order(program, candidates, self._most_bytes, most_alive)
        around = [
            (ops[group[0]], most_alive - moment.beside)
            for group, moment in zip(order.groups, order.alive, strict=True)
            if _may_contain_collectives(ops[group[0]])
        ]
        if len(order.groups) < len(ops):
            self._write(block, [[ops[index] for index in group] for group in order.groups])
        return around

    def _kind(self, op: Operation) -> Hashable:
        """Return a key that is equal for collectives that may be combined; channel ids do not matter."""
        named = {**op.properties, **op.attributes}
        channel = named.pop("channel_handle", None)
        channel_type = channel.data.type if isinstance(channel, ChannelHandleAttr) else None
        elements = {element_type_of(value) for value in op.operands} if type(op) is AllReduceOp else ()
        return type(op), frozenset(named.items()), channel_type, frozenset(elements), self._structure.of_regions(op)

    def _write(self, block: Block, order: Sequence[Sequence[Operation]]) -> None:
        """Reorder the ops of a block, and replace each group of several ops by one combined op."""
        for ops in order:
            if len(ops) > 1:
                _remark(self._ctx, ops)
                block.add_op(_combined(ops))
                for op in ops:
                    erase(op)
            else:
                ops[0].detach()
                block.add_op(ops[0])


def _combined(ops: Sequence[Operation]) -> Operation:
    """Return one op for several, and replace their results."""
    first = ops[0]
    results = [result for op in ops for result in op.results]
    one = type(first).create(
        operands=[operand for op in ops for operand in op.operands],
        result_types=[result.type for result in results],
        properties=first.properties,
        attributes=first.attributes,
        regions=[first.detach_region(region) for region in first.regions],
    )
    one.location = first.location
    for result, new in zip(results, one.results, strict=True):
        replace_uses(result, new)
    return one


def _remark(ctx: Context, ops: Sequence[Operation]) -> None:
    message = f"combined {len(ops)} {ops[0].name} into one"
    remark(ctx, "SDY-L121", message, ops[0])


def _may_contain_collectives(op: Operation) -> bool:
    """Return whether the regions of an op, or a callee, may contain collectives to combine."""
    return type(op) is CallOp or any(isinstance(inner, CombinableOp | CallOp) for inner in pre_order(op))


class Dependences:
    """Finds dependences between ops; a call has the effects of its callee."""

    def __init__(self, module: ModuleOp) -> None:
        self._functions = functions_of(module)
        self._has_effect: dict[str, bool] = {}

    def of(self, ops: Sequence[Operation], steps: Sequence[LifetimeStep[SSAValue]]) -> list[list[int]]:
        """Return for each op the indices of the ops that must precede it; `steps` list the values that ops read."""
        index_of: dict[SSAValue, int] = {result: index for index, op in enumerate(ops) for result in op.results}
        last_effect = -1
        found: list[list[int]] = []
        for index, (op, step) in enumerate(zip(ops, steps, strict=True)):
            needs = list(dict.fromkeys(index_of[value] for value in step.reads if value in index_of))
            if self._has_observable_effect(op):
                if last_effect >= 0 and last_effect not in needs:
                    needs.append(last_effect)
                last_effect = index
            found.append(needs)
        return found

    def _has_observable_effect(self, op: Operation) -> bool:
        """Return whether the op must stay in order. Collectives need not: all devices run them in the same order."""
        if kind_of(op) is not None or op.has_trait(IsTerminator):
            return False
        if isinstance(op, CallOp):
            return self._function_has_effect(callee_name(op))
        if op.has_trait(RecursiveMemoryEffect):
            return self._any_has_effect(op)
        return not is_side_effect_free(op)

    def _function_has_effect(self, name: str) -> bool:
        if name not in self._has_effect:
            self._has_effect[name] = True  # until known, for recursive functions
            func = self._functions.get(name)
            self._has_effect[name] = func is None or self._any_has_effect(func)
        return self._has_effect[name]

    def _any_has_effect(self, around: Operation) -> bool:
        blocks = (block for region in around.regions for block in region.blocks)
        return any(self._has_observable_effect(op) for block in blocks for op in block.ops)
