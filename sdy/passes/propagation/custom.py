"""Propagation with a user-defined strategy or user-defined op priorities, in the existing pipelines.

    before  ..., sdy-user-priority-propagate, ...
    after   ..., custom-propagate, other passes, ...

Available from Python only, since functions cannot be passed on the command line. docs/propagation.md has an example.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.passes.propagation.propagate import PropagationRun, ScheduledPass, propagate
from sdy.passes.run import Pipeline, flattened
from sdy.propagation.engine import Schedule


@dataclass(frozen=True)
class CustomPropagatePass(ScheduledPass):
    """Propagate by `schedule`, by user priorities unless `by_user_priority` is False.

    Strategies and levels must be pure functions: the engine calls them once for each distinct input.
    """

    name = "custom-propagate"

    schedule: Schedule = field(default_factory=Schedule)
    by_user_priority: bool = True
    keep_sharding_rules: bool = True

    def propagation_run(self) -> PropagationRun:
        """Return the schedule of the pass."""
        return PropagationRun(self.schedule, self.by_user_priority)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate the shardings of the module. Raises: SdyError if the module is not ready for propagation."""
        propagate(ctx, op, self.propagation_run(), keep_rules=self.keep_sharding_rules)


def with_propagation(pipeline: Pipeline, *passes: ModulePass) -> tuple[ModulePass, ...]:
    """Return the passes of `pipeline` with its propagation pass replaced by `passes`."""
    replaced: list[ModulePass] = []
    for module_pass in flattened([pipeline]):
        if isinstance(module_pass, ScheduledPass):
            replaced += passes
        else:
            replaced.append(module_pass)
    return tuple(replaced)
