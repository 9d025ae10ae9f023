"""The dependences between ops of a block: producers before users, and ops with effects in program order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, RecursiveMemoryEffect, is_side_effect_free

from sdy.cost.lifetimes import LifetimeStep
from sdy.cost.traffic import kind_of
from sdy.dialects.ir.symbols import functions_of
from sdy.passes.rewriting.call_graph import callee_name


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
