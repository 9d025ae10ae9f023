"""Which ops of a block have to come before which: those that make what they read, and earlier ones with an effect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, RecursiveMemoryEffect, is_side_effect_free

from sdy.cost.lifetimes import LifetimeStep
from sdy.cost.traffic import COLLECTIVE_KINDS
from sdy.dialects.ir.symbols import functions_of
from sdy.passes.rewriting.call_graph import callee_name


class OpNeeds:
    """Looks through the calls of a module: a call has the effects of the function."""

    def __init__(self, module: ModuleOp) -> None:
        self._functions = functions_of(module)
        self._has_effect: dict[str, bool] = {}

    def of(self, ops: Sequence[Operation], steps: Sequence[LifetimeStep[SSAValue]]) -> list[list[int]]:
        """For each op of a block its places that have to come before; `steps` say what the ops read."""
        place_of: dict[SSAValue, int] = {result: place for place, op in enumerate(ops) for result in op.results}
        last_effect = -1
        found: list[list[int]] = []
        for place, (op, step) in enumerate(zip(ops, steps, strict=True)):
            needs = list(dict.fromkeys(place_of[value] for value in step.reads if value in place_of))
            if self._is_seen(op):
                if last_effect >= 0 and last_effect not in needs:
                    needs.append(last_effect)
                last_effect = place
            found.append(needs)
        return found

    def _is_seen(self, op: Operation) -> bool:
        """Whether it matters when the op runs; not for collectives, which all devices run in the same order."""
        if type(op) in COLLECTIVE_KINDS or op.has_trait(IsTerminator):
            return False
        if isinstance(op, CallOp):
            return self._is_function_seen(callee_name(op))
        if op.has_trait(RecursiveMemoryEffect):
            return self._is_any_seen(op)
        return not is_side_effect_free(op)

    def _is_function_seen(self, name: str) -> bool:
        if name not in self._has_effect:
            self._has_effect[name] = True  # for a function that calls itself
            func = self._functions.get(name)
            self._has_effect[name] = func is None or self._is_any_seen(func)
        return self._has_effect[name]

    def _is_any_seen(self, around: Operation) -> bool:
        blocks = (block for region in around.regions for block in region.blocks)
        return any(self._is_seen(op) for block in blocks for op in block.ops)
