"""Merge fragments with the fragments that use them, or with the next one on their mesh.

Source: docs/spec/07, 6.10 to 6.12.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.common.clean_up import is_dead
from sdy.mpmd.passes.tools.calls import block_of_op
from sdy.mpmd.passes.tools.fragment_facts import is_backward, is_forward, next_on_mesh, single_count, split_type
from sdy.mpmd.passes.tools.fragments import fragments_of, merge, merged_attributes
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import move_after, positions_in, users_of_op
from sdy.mpmd.schedules.fragment_info import SplitType
from sdy.passes.rewriting.insertion import erase

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
        block = block_of_op(producer)
        users = (block.find_ancestor_op_in_block(user) for user in users_of_op(producer))
        if any(user is not None and positions.get(user, place) < place for user in users):
            place = positions[producer]
            if not all(_is_defined_before(source, producer, positions) for source in _sources(consumer)):
                return None
            move_after(consumer, producer)
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


def _sources(op: Operation) -> list[Operation | Block]:
    return [operand.owner for operand in op.operands]


def _is_defined_before(source: Operation | Block, producer: FragmentOp, positions: Positions) -> bool:
    return isinstance(source, Block) or source is producer or positions[source] < positions[producer]


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
