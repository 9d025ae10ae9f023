"""Merge fragments with those that use them, with the next one on their mesh, or by rules of the user.

What the compiler inferred in called functions is merged into the user's fragments. Source: docs/spec/07, 6.1 and 6.10
to 6.12; docs/spec/08, 3.7.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.mpmd.dialect.functions import is_entry_point, is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.common.clean_up import is_dead
from sdy.mpmd.passes.tools.fragments import (
    fragments_of,
    inferred_by,
    inferring_passes,
    info_of,
    is_backward,
    is_forward,
    merge,
    merged_attributes,
    next_on_mesh,
    remove_control_dependencies,
    set_info,
    single_count,
    split_type,
)
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.rewriting import rewrite_greedily
from sdy.mpmd.passes.tools.uses import (
    distinct,
    first_user_in_block,
    in_block_order,
    is_used,
    move,
    positions_in,
    sort_block,
    users_of_op,
)
from sdy.mpmd.schedules.fragment_info import FragmentInfo, MergeRule, SplitType, parse_merge_rules
from sdy.passes.rewriting.insertion import after_definition, erase

Positions = dict[Operation, int]


class MergePass(FunctionPass):
    """The base class of passes that merge a fragment, the producer, with one that uses it, the consumer.

    The result stands at the consumer if nothing before it uses the producer, or else at the producer if everything
    that the consumer needs is defined before. Positions are those at the start of the pass.
    """

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the fragments from the last to the first; erase those that are not used."""
        positions = positions_in(func.body.block)
        for fragment in reversed(fragments_of(func)):
            if is_dead(fragment):
                erase(fragment)
                continue
            merged: FragmentOp | None = fragment
            while merged is not None:
                merged = self._merge_once(merged, positions)

    def _merge_once(self, producer: FragmentOp, positions: Positions) -> FragmentOp | None:
        consumer = self.candidate(producer, positions)
        if consumer is None:
            return None
        place = positions[consumer]
        user = first_user_in_block(producer)
        if user is not None and positions.get(user, place) < place:
            place = positions[producer]
            others = {source for operand in consumer.operands if (source := operand.owner) is not producer}
            if any(isinstance(source, Operation) and positions[source] > place for source in others):
                return None
            move(consumer, InsertPoint.after(producer))
        merged = merge(producer, consumer, merged_attributes(producer, consumer))
        positions[merged] = place
        return merged

    def candidate(self, producer: FragmentOp, positions: Positions) -> FragmentOp | None:
        """Return the closest consumer if it may be merged."""
        closest = next(iter(consumers_of(producer, positions)), None)
        return closest if closest is not None and self.may_merge(producer, closest) else None

    @abstractmethod
    def may_merge(self, producer: FragmentOp, consumer: FragmentOp) -> bool:
        """Return whether the pass merges two fragments."""


def consumers_of(producer: FragmentOp, positions: Positions) -> list[FragmentOp]:
    """Return the fragments that use a fragment, the closest one first."""
    users = [user for user in users_of_op(producer) if isinstance(user, FragmentOp)]
    return sorted(users, key=positions.__getitem__)


@dataclass(frozen=True)
class MergeInferredFragmentsPass(MergePass):
    """Merge two fragments of a mesh of which the compiler inferred at least one.

    The consumer is the closest fragment that uses the producer; with `merge-any-consumer`, the closest of those that
    may be merged; with `merge-sideways`, the next fragment of the mesh, whether it uses the producer or not.
    """

    name = "mpmd-merge-inferred-fragments"

    merge_any_consumer: bool = False
    merge_sideways: bool = False

    def candidate(self, producer: FragmentOp, positions: Positions) -> FragmentOp | None:
        """Return the consumer that the options say, if it may be merged."""
        if self.merge_sideways:
            found = [next_on_mesh(producer)]
        else:
            consumers = consumers_of(producer, positions)
            found = consumers if self.merge_any_consumer else consumers[:1]
        return next((each for each in found if each is not None and self.may_merge(producer, each)), None)

    def may_merge(self, producer: FragmentOp, consumer: FragmentOp) -> bool:
        """Accept all but two fragments of the user, and the two parts of a split fragment."""
        is_split = split_type(producer) is SplitType.KEEP and split_type(consumer) is SplitType.DROP
        return not is_split and not (producer.is_user_fragment and consumer.is_user_fragment)


class MergeForwardWithBackwardPass(MergePass):
    """Merge a forward fragment with the backward fragment that runs right after it on its mesh and uses it."""

    name = "mpmd-merge-forward-with-backward"

    def may_merge(self, producer: FragmentOp, consumer: FragmentOp) -> bool:
        """Accept neighbours on their mesh."""
        return next_on_mesh(producer) is consumer and is_forward(producer) and is_backward(consumer)


class MergeUserFragmentsIntoSchedulingUnitsPass(MergePass):
    """Merge the user's fragments of one direction, microbatch and stage into units that a schedule orders."""

    name = "mpmd-merge-user-fragments-into-scheduling-units"

    def may_merge(self, producer: FragmentOp, consumer: FragmentOp) -> bool:
        """Accept fragments whose transpose counts, call counters and stages agree."""
        count = single_count(producer)
        if count is None or count != single_count(consumer):
            return False
        pairs = (producer.call_counter, consumer.call_counter), (producer.stage, consumer.stage)
        is_alike = all(None in pair or pair[0] == pair[1] for pair in pairs)
        return is_alike and producer.mesh == consumer.mesh


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
    place = members[0].next_op
    merged = members[0]
    for member in members[1:]:
        if place is member:
            place = member.next_op
        merged = merge(merged, member, {})
    set_info(merged, rule.target)
    move(merged, InsertPoint.before(place or terminator_of(func.body)))
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


@dataclass(frozen=True)
class AbsorbInferredFragmentsPass(FunctionPass):
    """Merge inferred fragments into the fragments that use them, or that they use."""

    name = "mpmd-absorb-inferred-fragments"
    ON = is_mpmd

    absorb_on_entry_point_function: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit a called function, or an entry point if the option includes it."""
        if self.absorb_on_entry_point_function or not is_entry_point(func):
            rewrite_greedily(func, (_absorb_producer, _absorb_consumer), merges_constants=True)


def _is_root(op: Operation) -> bool:
    """Return whether a fragment absorbs others: the user's, and those that no fragment uses, or that use none."""
    return isinstance(op, FragmentOp) and (
        op.is_user_fragment
        or not any(isinstance(user, FragmentOp) for user in users_of_op(op))
        or not any(isinstance(operand.owner, FragmentOp) for operand in op.operands)
    )


def _absorb_producer(op: Operation) -> list[Operation] | None:
    """Merge the first inferred fragment that defines an operand and that nothing before `op` uses.

    Transfers of its results are moved out of the way.
    """
    if not isinstance(op, FragmentOp) or not _is_root(op):
        return None
    candidates: list[FragmentOp] = []
    for source in distinct(operand.owner for operand in op.operands):
        if not isinstance(source, FragmentOp) or source.is_user_fragment:
            continue
        for transfer in distinct(user for user in users_of_op(source) if isinstance(user, TransferOp)):
            user = first_user_in_block(transfer)
            if user is None:
                erase(transfer)
            else:
                move(transfer, InsertPoint.before(user))
        if first_user_in_block(source) is op:
            candidates.append(source)
    if not candidates:
        return None
    return _touched(merge(candidates[0], op, _attributes(op, candidates[0])))


def _absorb_consumer(op: Operation) -> list[Operation] | None:
    """Merge the first inferred fragment that uses `op` after all its other operands are defined."""
    if not isinstance(op, FragmentOp) or not _is_root(op):
        return None
    candidates: list[FragmentOp] = []
    for user in distinct(users_of_op(op)):
        if not isinstance(user, FragmentOp) or user.is_user_fragment:
            continue
        for transfer in distinct(operand.owner for operand in user.operands):
            if isinstance(transfer, TransferOp):
                move(transfer, after_definition(transfer.tensor))
        sources = [operand.owner for operand in user.operands if isinstance(operand.owner, Operation)]
        if in_block_order(sources)[-1] is op:
            candidates.append(user)
    if not candidates:
        return None
    following = op.next_op
    if following is candidates[0]:
        following = candidates[0].next_op
    merged = merge(op, candidates[0], _attributes(op, candidates[0]))
    if following is not None:
        move(merged, InsertPoint.before(following))
    return _touched(merged)


def _attributes(root: FragmentOp, absorbed: FragmentOp) -> dict[str, Attribute]:
    """Return the attributes of the root; an inferred one also lists the passes that made the absorbed fragment."""
    makers = inferring_passes(absorbed)
    if root.is_user_fragment or not makers:
        return dict(root.attributes)
    return {**root.attributes, **inferred_by(*distinct([*inferring_passes(root), *makers]))}


def _touched(merged: FragmentOp) -> list[Operation]:
    """Return the ops whose surroundings a merge changed."""
    sources = [operand.owner for operand in merged.operands if isinstance(operand.owner, Operation)]
    users = users_of_op(merged) if is_used(merged) else []
    return [*sources, *users, merged]
