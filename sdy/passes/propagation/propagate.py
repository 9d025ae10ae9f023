"""The propagation passes: fill in the open dims of all shardings of a module.

    before  %0 = stablehlo.dot_general %a, %b ...       %a [{"x"}, {}], %b without sharding
    after   %0 = ... {sdy.sharding = [{"x", ?}, {?}]}

Requires: shardings name their meshes; tensors of static shape. Ensures: no op but those that were dead is gone.
Source: spec of propagation, sections 1.1 to 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, ShapedType, TupleType
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.context import emit
from sdy.dialects.places import span_of
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.walk import post_order
from sdy.passes.propagation.flatten import FlatModule
from sdy.passes.propagation.sharding_groups import groups_of, synchronise
from sdy.propagation.directions import NO_PRIORITIES, OP_PRIORITIES
from sdy.propagation.engine import Engine, Schedule
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.basic import basic
from sdy.propagation.strategies.step import Strategy
from sdy.propagation.user_priority import run_by_user_priority
from sdy.rules.all import RULE_ATTRIBUTE, RuleSource, drop_rules

STRATEGIES: Mapping[str, tuple[Strategy, ...]] = {
    "basic": (basic,),
    "aggressive": (aggressive,),
    "basic-then-aggressive": (basic, aggressive),
}


def propagate(ctx: Context, module: ModuleOp, schedule: Schedule, *, by_user_priority: bool, keep_rules: bool) -> None:
    """Propagate the shardings of `module` in place.

    Raises: SdyError where a type, a mesh or the functions are not what propagation needs.
    """
    _require_static_tensors(module)
    groups = groups_of(module)
    synchronise(groups, partial(emit, ctx))
    flat = FlatModule(module, RuleSource(ctx, conservative=schedule.conservative))
    for members in groups.values():
        values = [flat.value(member) for member in members]
        for value in values:
            value.group = values
    engine = Engine(flat.graph, schedule)
    if by_user_priority:
        run_by_user_priority(flat.graph, engine)
    else:
        engine.run()
    if keep_rules:
        for op, rule in flat.rules():
            op.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)
    flat.write_back()
    if not keep_rules:
        drop_rules(module)


def _require_static_tensors(module: ModuleOp) -> None:
    for op in post_order(module):
        for result in op.results:
            if static_shape(result.type) is None and isinstance(result.type, ShapedType | TupleType):
                wanted = "tensors of static shape, and no tuples"
                message = f"{op.name} gives a value of type {result.type}; propagation needs {wanted}"
                raise SdyError(Diagnostic("SDY-T103", message, span_of(op)))


@dataclass(frozen=True)
class _PropagatePass(ModulePass):
    """What all propagation passes share."""

    keep_sharding_rules: bool = False
    conservative_propagation: bool = False

    by_user_priority: ClassVar[bool] = False

    def schedule(self) -> Schedule:
        """What the pass runs."""
        return Schedule((basic,), NO_PRIORITIES, self.conservative_propagation)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate."""
        propagate(ctx, op, self.schedule(), by_user_priority=self.by_user_priority, keep_rules=self.keep_sharding_rules)


@dataclass(frozen=True)
class BasicPropagatePass(_PropagatePass):
    """Shard a factor only as far as every tensor can follow; resolve no conflict."""

    name = "sdy-basic-propagate"


@dataclass(frozen=True)
class AggressivePropagatePass(_PropagatePass):
    """Let each tensor take what it can; conflicts go to the larger source."""

    name = "sdy-aggressive-propagate"

    propagation_strategy: str = "aggressive"

    def schedule(self) -> Schedule:
        """One sweep per strategy."""
        return Schedule(_strategies(self.propagation_strategy), NO_PRIORITIES, self.conservative_propagation)


@dataclass(frozen=True)
class OpPriorityPropagatePass(AggressivePropagatePass):
    """Propagate through element-wise ops first, then through the others, level by level."""

    name = "sdy-op-priority-propagate"

    run_op_priority_propagation: bool = True

    def schedule(self) -> Schedule:
        """All strategies at each level."""
        levels = OP_PRIORITIES if self.run_op_priority_propagation else NO_PRIORITIES
        return Schedule(_strategies(self.propagation_strategy), levels, self.conservative_propagation)


@dataclass(frozen=True)
class UserPriorityPropagatePass(OpPriorityPropagatePass):
    """Propagate what the user annotated with a smaller number through the whole program first."""

    name = "sdy-user-priority-propagate"

    by_user_priority: ClassVar[bool] = True


def _strategies(name: str) -> tuple[Strategy, ...]:
    if name not in STRATEGIES:
        message = f'no propagation strategy is called "{name}"'
        raise SdyError(Diagnostic("SDY-T106", message, hint=f"strategies: {', '.join(STRATEGIES)}"))
    return STRATEGIES[name]
