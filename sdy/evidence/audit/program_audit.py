"""The audit of all rules of a program's ops, and proposals for custom calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import SdyError, Span
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.evidence.audit.audit_rule import RuleAudit, audit_rule, is_run_unchanged, is_too_large
from sdy.evidence.audit.learn import learned_rule
from sdy.evidence.audit.one_op import OneOp
from sdy.interpreter.executor import captured_by
from sdy.model.rule import OpShardingRule
from sdy.rules.all import RULES, WITHOUT_RULE, is_known, sharding_rule


@dataclass(frozen=True, slots=True)
class OpAudit:
    """The audit of the rule of one op, or why there is none, and a proposal if it was asked for."""

    name: str
    span: Span | None
    audit: RuleAudit | None
    reason: str | None = None
    proposal: OpShardingRule | None = None


def audit_program(module: ModuleOp, *, learn: bool = False) -> list[OpAudit]:
    """Audit the rule of each op that has one, on the shapes of the program, equal ops once.

    With `learn`, propose a rule for custom calls and for ops of other dialects than StableHLO, CHLO and sdy.
    """
    return [_audit(op, learn=learn) for op in _distinct_ops(module)]


def _audit(op: Operation, *, learn: bool) -> OpAudit:
    name = f"custom call @{op.call_target_name.data}" if isinstance(op, CustomCallOp) else op.name
    rule, span = sharding_rule(op), span_of(op)
    if captured_by(op):
        return OpAudit(name, span, None, "its regions read values from outside of it")
    if any(as_tensor(value.type) and static_shape(value.type) is None for value in (*op.operands, *op.results)):
        return OpAudit(name, span, None, "its tensors have dynamic dims")
    try:
        if is_too_large(OneOp(op)):
            return OpAudit(name, span, None, "its tensors are too large: audit it in a program with small ones")
        proposal = learned_rule(op) if learn and is_run_unchanged(op) else None
        if rule is None:
            returned_none = type(op) in RULES and not isinstance(op, CustomCallOp)
            reason = "the function of its rule returned None" if returned_none else "it has no rule"
            return OpAudit(name, span, None, reason, proposal)
        return OpAudit(name, span, audit_rule(op, rule), proposal=proposal)
    except SdyError as error:
        return OpAudit(name, span, None, f"it cannot be run: {error.diagnostics[0].message}")


def _distinct_ops(module: ModuleOp) -> Iterator[Operation]:
    """Yield one of each group of equal ops that have a rule, or that should have one."""
    seen: set[tuple[object, ...]] = set()
    for op in pre_order(module):
        if type(op) in WITHOUT_RULE or (op.regions and sharding_rule(op) is None) or not op.operands or not op.results:
            continue
        if sharding_rule(op) is None and is_known(op) and not is_run_unchanged(op):
            continue
        types = tuple(str(value.type) for value in (*op.operands, *op.results))
        attributes = {**op.properties, **op.attributes}
        key = (op.name, types, *(f"{name}={value}" for name, value in sorted(attributes.items())))
        if op.regions or key not in seen:
            seen.add(key)
            yield op
