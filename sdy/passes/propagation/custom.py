"""Propagation with a strategy, or with op priorities, of your own, in the pipelines that are there.

    before  ..., sdy-user-priority-propagate, ...
    after   ..., custom-propagate, passes of yours, ...

For Python: the command line has no words for functions. docs/propagation.md has an example.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.passes.propagation.propagate import AggressivePropagatePass, BasicPropagatePass, PropagationOptions, propagate
from sdy.passes.run import Pipeline, flattened
from sdy.propagation.engine import Schedule


@dataclass(frozen=True)
class CustomPropagatePass(ModulePass):
    """Propagate as `schedule` says, by user priorities unless they are to count for nothing.

    A strategy and a level are pure functions: the engine asks them once for each input that it meets.
    """

    name = "custom-propagate"

    schedule: Schedule = field(default_factory=Schedule)
    by_user_priority: bool = True
    keep_sharding_rules: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate. Raises: SdyError where the module is not what propagation needs."""
        options = PropagationOptions(by_user_priority=self.by_user_priority, keep_rules=self.keep_sharding_rules)
        propagate(ctx, op, self.schedule, options)


def with_propagation(pipeline: Pipeline, *passes: ModulePass) -> tuple[ModulePass, ...]:
    """The passes of `pipeline` with `passes` where it propagates: your propagation, and what is to follow it."""
    found: list[ModulePass] = []
    for each in flattened([pipeline]):
        if isinstance(each, BasicPropagatePass | AggressivePropagatePass):
            found += passes
        else:
            found.append(each)
    return tuple(found)
