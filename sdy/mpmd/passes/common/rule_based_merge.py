"""Merge fragments by rules of the user. Source: docs/spec/08, 3.7."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.block_sort import sort_block
from sdy.mpmd.passes.tools.calls import block_of_op
from sdy.mpmd.passes.tools.fragment_facts import info_of, set_info
from sdy.mpmd.passes.tools.fragments import fragments_of, merge, remove_control_dependencies
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.greedy import rewrite_greedily
from sdy.mpmd.passes.tools.uses import move_before
from sdy.mpmd.schedules.fragment_info import FragmentInfo, MergeRule, parse_merge_rules


@dataclass(frozen=True)
class RuleBasedMergePass(FunctionPass):
    """Merge the fragments that a rule names, and give the result the info that it names."""

    name = "mpmd-rule-based-merge"
    ON = is_mpmd

    rules: str = ""
    remove_control_dependencies: bool = True

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Merge, sort the function, and fail if the merged fragments wait for each other."""
        by_source = _rules_by_source(parse_merge_rules(self.rules))
        if by_source:
            rewrite_greedily(func, (lambda op: _merge_at(op, func, by_source),))
        if not sort_block(func.body.block):
            findings.error(func, "SDY-M102", "a cycle: not all fragments can be merged as the rules say")
        if self.remove_control_dependencies:
            remove_control_dependencies(func)


def _rules_by_source(rules: tuple[MergeRule, ...]) -> dict[FragmentInfo, MergeRule]:
    """Return the rule of each source. Raises: SdyError SDY-M102 if a source is in two rules."""
    found: dict[FragmentInfo, MergeRule] = {}
    for rule in rules:
        for source in rule.sources:
            if source in found:
                hint = "name each fragment in one rule"
                raise SdyError(Diagnostic("SDY-M102", f"{source} is already part of another merge rule", hint=hint))
            found[source] = rule
    return found


def _merge_at(op: Operation, func: FuncOp, rules: dict[FragmentInfo, MergeRule]) -> list[Operation] | None:
    """Merge all fragments of the rule of a fragment."""
    rule = rules.get(info_of(op)) if isinstance(op, FragmentOp) and op.parent is func.body.block else None
    if rule is None or not isinstance(op, FragmentOp):
        return None
    others = [
        each
        for each in fragments_of(func)
        if each is not op and each.mesh == op.mesh and rules.get(info_of(each)) is rule
    ]
    members = _sorted_by_uses([*others, op]) if others else None
    if members is None:
        return None
    block = block_of_op(op)
    place = members[0].next_op
    merged = members[0]
    for member in members[1:]:
        if place is member:
            place = member.next_op
        merged = merge(merged, member, {})
    set_info(merged, rule.target)
    move_before(merged, place or block.ops.last or merged)
    return [merged]


def _sorted_by_uses(fragments: list[FragmentOp]) -> list[FragmentOp] | None:
    """Return fragments in an order in which each stands after those it uses directly; None if there is a cycle."""
    order = list(fragments)
    unplaced: set[Operation] = set(order)
    placed = 0
    while placed < len(order):
        before = placed
        for index in range(placed, len(order)):
            if not any(operand.owner in unplaced for operand in order[index].operands):
                unplaced.discard(order[index])
                order[placed], order[index] = order[index], order[placed]
                placed += 1
        if placed == before:
            return None
    return order
