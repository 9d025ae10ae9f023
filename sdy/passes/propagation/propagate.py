"""The propagation passes, which extend the open dims of all shardings of a module.

    before  %0 = stablehlo.dot_general %a, %b ...       %a has [{"x"}, {}], %b has no sharding
    after   %0 = ... {sdy.sharding = [{"x", ?}, {?}]}

Requires: shardings refer to meshes by name; tensors have static shapes. Ensures: only dead ops are erased.
Source: docs/spec/02, 1.1 to 1.4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import is_trivially_dead
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.op_location import located
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.sdy.ops import ShardingGroupOp
from sdy.passes.propagation.debug_records import DebugOptions, DebugRecords
from sdy.passes.propagation.flatten import FlatModule, build_flat_module
from sdy.passes.propagation.sharding_groups import groups_of, synchronize
from sdy.passes.rewriting.op_order import OpOrder, keep_order_without, op_order
from sdy.passes.save_module import save_module
from sdy.propagation.directions import NO_PRIORITIES, OP_PRIORITIES
from sdy.propagation.engine import Engine, OnUpdate, Schedule
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.basic import basic
from sdy.propagation.strategies.step import PropagationStrategy
from sdy.propagation.trace import Trace
from sdy.propagation.user_priority import run_by_user_priority
from sdy.rules.all import RULE_ATTRIBUTE, RuleSource, drop_rules

STRATEGIES: Mapping[str, tuple[PropagationStrategy, ...]] = {
    "basic": (basic,),
    "aggressive": (aggressive,),
    "basic-then-aggressive": (basic, aggressive),
}


class PropagationRun(NamedTuple):
    """The strategies and levels that a propagation pass runs, once or for each user priority."""

    schedule: Schedule
    by_user_priority: bool


def propagate(
    ctx: Context,
    module: ModuleOp,
    run: PropagationRun,
    *,
    keep_rules: bool,
    debug: DebugOptions | None = None,
    dump_directory: str = "",
) -> None:
    """Propagate the shardings of `module` in place, and save the module after each priority if there is a directory.

    Raises: SdyError if a type, a mesh or the functions do not meet the requirements of propagation, or SDY-T011 if a
    strategy of a user breaks its contract.
    """
    records = None if debug is None else DebugRecords(module, debug)
    order = op_order(module)
    flat = flatten(ctx, module, conservative=run.schedule.conservative)
    trace = Trace()
    dump = partial(_dump, ctx, module, flat, dump_directory) if dump_directory else None
    run_engine(module, flat, run, None if records is None else trace.record, dump)
    write_result(module, order, flat, keep_rules=keep_rules)
    if records is not None:
        records.add_trace(trace.steps, flat.operations(), flat.stored_on())
        records.write()
    flat.graph.dissolve()


def run_engine(
    module: ModuleOp,
    flat: FlatModule,
    run: PropagationRun,
    on_update: OnUpdate | None,
    dump: Callable[[int], None] | None = None,
) -> None:
    """Propagate in the graph of a module. Raises: SdyError SDY-T011 if a strategy of a user breaks its contract."""
    engine = Engine(flat.graph, run.schedule, on_update)
    try:
        if run.by_user_priority:
            run_by_user_priority(flat.graph, engine, dump)
        else:
            engine.run()
    except SdyError as error:
        raise located(error, flat.operations()[engine.failed_at] if engine.failed_at else module) from error


def write_result(module: ModuleOp, order: OpOrder, flat: FlatModule, *, keep_rules: bool) -> None:
    """Write the shardings of a graph to its module, whose `order` was that before it was flattened."""
    if keep_rules:
        _write_rules(flat)
    flat.write_back()
    if not keep_rules:
        drop_rules(order.ops)
    if not order.of(ShardingGroupOp):  # synchronizing sharding groups may insert constraints
        keep_order_without(module, flat.erased())


def flatten(ctx: Context, module: ModuleOp, *, conservative: bool = False) -> FlatModule:
    """Synchronize the sharding groups of the module, and flatten it to the graph that the engine needs.

    Raises: SdyError if a type, a mesh or the functions do not meet the requirements of propagation.
    """
    groups = groups_of(module)
    synchronize(groups, partial(emit, ctx))
    flat = build_flat_module(module, RuleSource(ctx, conservative=conservative, is_ignored=is_trivially_dead))
    for members in groups.values():
        values = [flat.value(member) for member in members]
        for value in values:
            value.group = values
    return flat


def _write_rules(flat: FlatModule) -> None:
    attributes: dict[int, OpShardingRuleAttr] = {}
    for op, rule in flat.rules():
        if rule not in attributes:
            attributes[rule] = OpShardingRuleAttr(flat.graph.rules.value(rule))
        op.attributes[RULE_ATTRIBUTE] = attributes[rule]


def _dump(ctx: Context, module: ModuleOp, flat: FlatModule, directory: str, priority: int) -> None:
    """Save the module after `priority`. Later dims are still hidden."""
    _write_rules(flat)
    flat.write_back()
    save_module(ctx, module, directory, f"propagation_after_user_priority_{priority}")


class ScheduledPass(ModulePass, ABC):
    """A pass that propagates shardings by a schedule, so that its steps can be recorded and explained."""

    keep_sharding_rules: bool

    @abstractmethod
    def propagation_run(self) -> PropagationRun:
        """Return what the pass runs."""


@dataclass(frozen=True)
class PropagatePass(ScheduledPass, ABC):
    """The options that the propagation passes of Shardy share. Each pass adds its schedule."""

    keep_sharding_rules: bool = False
    module_dump_directory: str = ""
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False

    by_user_priority: ClassVar[bool] = False

    @abstractmethod
    def schedule(self) -> Schedule:
        """Return the strategies and levels that the pass runs."""

    def propagation_run(self) -> PropagationRun:
        """Return what the pass runs."""
        return PropagationRun(self.schedule(), self.by_user_priority)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Propagate the shardings of the module."""
        debug = DebugOptions(self.debug_sharding_origins, self.debug_propagation_edge_sharding)
        propagate(
            ctx,
            op,
            self.propagation_run(),
            keep_rules=self.keep_sharding_rules,
            debug=debug if debug.records_any else None,
            dump_directory=self.module_dump_directory,
        )


class BasicPropagatePass(PropagatePass):
    """Shard a factor only as far as every tensor can follow; resolve no conflict."""

    name = "sdy-basic-propagate"

    def schedule(self) -> Schedule:
        """Return a schedule of the basic strategy without op priorities."""
        return Schedule((basic,), NO_PRIORITIES, self.conservative_propagation)


@dataclass(frozen=True)
class AggressivePropagatePass(PropagatePass):
    """Let each tensor take the axes that fit; the larger source wins a conflict."""

    name = "sdy-aggressive-propagate"

    propagation_strategy: str = "aggressive"

    def schedule(self) -> Schedule:
        """Return a schedule of the chosen strategies without op priorities."""
        return Schedule(_strategies(self.propagation_strategy), NO_PRIORITIES, self.conservative_propagation)


@dataclass(frozen=True)
class OpPriorityPropagatePass(PropagatePass):
    """Propagate through element-wise ops first, then through the others, level by level."""

    name = "sdy-op-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def schedule(self) -> Schedule:
        """Return a schedule of the chosen strategies, with op priorities if requested."""
        levels = OP_PRIORITIES if self.run_op_priority_propagation else NO_PRIORITIES
        return Schedule(_strategies(self.propagation_strategy), levels, self.conservative_propagation)


@dataclass(frozen=True)
class UserPriorityPropagatePass(PropagatePass):
    """Propagate dims with a smaller user priority number through the whole program first."""

    name = "sdy-user-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True
    until_stable: bool = False  # whether to visit ops that Shardy misses, until no sharding changes

    by_user_priority: ClassVar[bool] = True

    def schedule(self) -> Schedule:
        """Return a schedule of the chosen strategies, with op priorities if requested."""
        levels = OP_PRIORITIES if self.run_op_priority_propagation else NO_PRIORITIES
        strategies = _strategies(self.propagation_strategy)
        return Schedule(strategies, levels, self.conservative_propagation, self.until_stable)


def _strategies(name: str) -> tuple[PropagationStrategy, ...]:
    if name not in STRATEGIES:
        message = f'unknown propagation strategy "{name}"'
        raise SdyError(Diagnostic("SDY-T106", message, hint=f"known strategies: {', '.join(STRATEGIES)}"))
    return STRATEGIES[name]
