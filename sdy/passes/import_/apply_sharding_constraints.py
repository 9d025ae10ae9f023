"""Copy closed sharding constraints to the values that they constrain, if these have no sharding or a fully open one.

    before  %0 = stablehlo.abs %a                                     %1 = sdy.sharding_constraint %0 <@m, [{"x"}]>
    after   %0 = stablehlo.abs %a {sdy.sharding = [<@m, [{"x"}]>]}    %1 = sdy.sharding_constraint %0 <@m, [{"x"}]>

The in shardings of manual computations act as constraints on their operands. Source: docs/spec/04, 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.data_flow import edge_of_target
from sdy.dialects.ir.walk import nested_first
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import set_sharding, sharding_of, storing_value
from sdy.model.mesh_table import resolve_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open, fully_open_like
from sdy.passes.propagation.debug_records import DebugOptions, DebugRecords
from sdy.passes.rewriting.insertion import after_definition, insert, redirect_other_uses
from sdy.passes.rewriting.op_order import keep_order, op_order
from sdy.propagation.graph import Direction
from sdy.propagation.projection import project
from sdy.propagation.step_function import Change
from sdy.propagation.strategies.step import OpStep
from sdy.propagation.trace import moves_in
from sdy.rules.all import RULE_ATTRIBUTE, sharding_rule

# Ops with shardings that their operands should have.
CONSTRAINING = frozenset[type[Operation]]((ShardingConstraintOp, ManualComputationOp))


@dataclass(frozen=True)
class ApplyShardingConstraintsPass(ModulePass):
    """Apply closed constraints to their inputs."""

    name = "sdy-apply-sharding-constraints"

    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit constraints and manual computations, inner ops first."""
        debug = DebugOptions(self.debug_sharding_origins, self.debug_propagation_edge_sharding)
        records = DebugRecords(op, debug) if debug.records_any else None
        is_order_kept = True
        for inner in nested_first([inner for inner in op_order(op).ops if type(inner) in CONSTRAINING]):
            if isinstance(inner, ShardingConstraintOp):
                _use_end_of_chain(inner)
                if _may_apply(inner.input, inner.sharding.data):
                    is_order_kept &= _apply_constraint(inner, records)
            elif isinstance(inner, ManualComputationOp):
                for operand, sharding in zip(inner.tensors, inner.in_shardings.data, strict=False):
                    if _may_apply(operand, sharding):
                        is_order_kept &= _apply_in_sharding(inner, operand, sharding)
        if records is not None:
            records.write()
        if is_order_kept:
            keep_order(op)


def _use_end_of_chain(head: ShardingConstraintOp) -> None:
    """Make the ops after a chain of constraints use its end instead of `head.input`, if that has no sharding."""
    value = head.input
    if isinstance(value.owner, ShardingConstraintOp) or _is_constrained(value):
        return
    if any(user is not head for user, _ in _constraining_users(value)):
        return
    tail = head
    while isinstance(user := tail.result.get_user_of_unique_use(), ShardingConstraintOp):
        tail = user
    if tail is head or any(_constraining_users(tail.result)):
        return
    value.replace_uses_with_if(
        tail.result,
        lambda use: (
            use.operation is not head and not isinstance(use.operation, FuncReturnOp) and _follows(use.operation, tail)
        ),
    )


def _follows(op: Operation, first: Operation) -> bool:
    return op is not first and op.parent is first.parent and first.is_before_in_block(op)


def _constraining_users(value: SSAValue) -> Iterator[tuple[Operation, TensorSharding]]:
    """Yield the ops that constrain `value`, with the sharding that each requires."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ShardingConstraintOp):
            yield user, user.sharding.data
        elif isinstance(user, ManualComputationOp) and use.index < len(user.in_shardings.data):
            yield user, user.in_shardings.data[use.index]


def _may_apply(value: SSAValue, sharding: TensorSharding) -> bool:
    if not sharding.is_fully_closed or storing_value(value) is None or _is_constrained(value):
        return False
    return all(other == sharding for _, other in _constraining_users(value))


def _is_constrained(value: SSAValue) -> bool:
    """Return whether the value has a sharding with a requirement: a scalar, or one that is not fully open."""
    sharding = sharding_of(value)
    return sharding is not None and (sharding.rank == 0 or sharding != fully_open_like(sharding))


def _apply_constraint(constraint: ShardingConstraintOp, records: DebugRecords | None) -> bool:
    """Set the sharding of the input, or move the constraint right after it; return whether the order of ops is kept."""
    value, sharding = constraint.input, constraint.sharding.data
    if not _belongs_to_edge(value):
        set_sharding(value, sharding)
        rule = sharding_rule(constraint)
        if rule is not None:
            constraint.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)
            if records is not None:
                _record(records, constraint, rule)
        return True
    constraint.detach()
    _insert_with_uses(constraint, value, constraint)
    return False


def _record(records: DebugRecords, constraint: ShardingConstraintOp, rule: OpShardingRule) -> None:
    """Record that the input, which had no sharding, received that of the constraint."""
    sharding = constraint.sharding.data
    mesh = resolve_mesh(sharding.mesh, records.meshes)
    if mesh is None:
        return
    step = OpStep(rule, (Direction.BACKWARD,) * len(rule.factor_sizes), mesh, is_elementwise=True, conservative=False)
    change = Change(step, project(rule, (None, sharding), mesh), project(rule, (sharding, sharding), mesh))
    if change.before != change.after:
        records.add_step(constraint, moves_in(change), 1, (storing_value(constraint.input), constraint.result))


def _apply_in_sharding(op: ManualComputationOp, value: SSAValue, sharding: TensorSharding) -> bool:
    """Set the sharding of the value, or insert a constraint right after it; return whether the order of ops is kept."""
    if not _belongs_to_edge(value):
        set_sharding(value, sharding)
        return True
    _insert_with_uses(ShardingConstraintOp(value, sharding), value, op)
    return False


def _belongs_to_edge(value: SSAValue) -> bool:
    """Return whether `value` belongs to a data-flow edge, whose other values the constraint does not apply to."""
    return isinstance(value.owner, DataFlowEdgeOp) or edge_of_target(value) is not None


def _insert_with_uses(constraint: ShardingConstraintOp, value: SSAValue, origin: Operation) -> None:
    insert(constraint, after_definition(value), origin.location)
    redirect_other_uses(value, constraint.result)
    sharding = constraint.sharding.data
    if sharding.unreduced:
        # Unreduced axes do not propagate.
        current = sharding_of(value) or fully_open(sharding.mesh, rank_of_type(value.type))
        set_sharding(value, replace(current, unreduced=sharding.unreduced, unreduced_kind=sharding.unreduced_kind))
