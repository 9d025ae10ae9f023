"""The lemma of equal local values: in a manual computation, equal operands on each device give equal results there.

Where no other lemma relates the result of an op on shards to a value of all devices, the result stands for itself. The
local program computes the same if it applies the same op to the same operands on each device.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice, product

from xdsl.ir import Operation, OpResult

from sdy.dialects.stablehlo.call_targets import is_ragged_all_to_all, ragged_all_to_all_groups
from sdy.evidence.proof.collectives.lemmas import groups_of, listed_groups, pairs_of
from sdy.evidence.proof.device_values import MOST_READINGS, are_compared, describe, stacked, ways_to_read
from sdy.evidence.proof.factors import attributes_of
from sdy.evidence.proof.op_sets import BRANCHES, PASSING
from sdy.evidence.proof.relations import NotProvedError, Relation, View, is_within
from sdy.evidence.proof.structured import row_factors
from sdy.evidence.proof.walk import Walk, element_of, returned_by, shape_of

# The devices whose operands a result follows from, and the position of its device among them, where that matters.
Source = tuple[int, tuple[int, ...]]
GROUPED = frozenset(f"stablehlo.{each}" for each in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all"))
SAME_FOR_ALL = frozenset({"stablehlo.all_gather", "stablehlo.all_reduce"})  # devices of a group get the same result
PERMUTATION = "stablehlo.collective_permute"
OF_DEVICES = ("replica_groups", "source_target_pairs", "channel_handle", "use_global_device_ids")
_EXCLUDED = (PASSING - BRANCHES) | {"stablehlo.partition_id", "sdy.manual_computation"}


def local_results(walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Relation]:
    """Lemma: equal local operands give equal local results.

    Raises: NotProvedError if the op is none of a manual computation, or the global program computes no such results.
    """
    if op.name not in walk.lemmas or op.name in _EXCLUDED or not are_compared(walk, op):
        raise NotProvedError("an op whose results are not compared device by device")
    if op.name in BRANCHES:
        return _chosen(walk, op, operands[0])
    regions = tuple(walk.combined_alone(each)[0] for each in op.regions)
    is_opaque = op.name == "stablehlo.custom_call" and not is_ragged_all_to_all(op)
    own = row_factors(walk, op).attributes if is_opaque else attributes_of(op, *OF_DEVICES)
    attributes, sources = (op.name, own, regions), _sources(walk, op)
    if op.name in GROUPED or op.name == PERMUTATION:
        pairs = zip(op.results, operands, strict=True)
        return [
            _of_one_operand(walk, op, each) or _result(walk, result, attributes, [each], sources)
            for result, each in pairs
        ]
    return [_result(walk, result, (*attributes, result.index), operands, sources) for result in op.results]


def _of_one_operand(walk: Walk, op: Operation, operand: Relation) -> Relation | None:
    """Return what a collective of several operands makes of one of them if the program has it; otherwise None."""
    if len(op.operands) == 1:
        return None
    try:
        (found,) = walk.lemmas[op.name](walk, op, [operand])
    except NotProvedError:
        return None
    return found if isinstance(found, View) and is_within(found) and walk.table.is_global(found.term) else None


def _chosen(walk: Walk, op: Operation, condition: Relation) -> list[Relation]:
    """Return the results of the branch that each device chooses: equal conditions choose the same of equal values."""
    returned = zip(*(returned_by(region) for region in op.regions), strict=True)
    values = ([walk.environment[each] for each in of_branches] for of_branches in returned)
    pairs = zip(op.results, values, strict=True)
    return [_result(walk, result, (op.name,), [condition, *each], _alone(walk)) for result, each in pairs]


def _result(
    walk: Walk, result: OpResult, attributes: Hashable, operands: Sequence[Relation], sources: Sequence[Source]
) -> Relation:
    """Return the local values of a result, which each device computes from the operands of others or its own."""
    table = walk.table
    for reading in islice(product(*(ways_to_read(each, table) for each in operands)), MOST_READINGS):
        found = [describe(each, walk.devices) for each in reading]
        own = [
            (position, tuple(tuple(each.own[device] for each in found) for device in devices))
            for position, devices in sources
        ]
        key = (attributes, tuple(each.shared for each in found))
        terms = tuple(term for each in found for term in each.terms)
        view = stacked(table, key, terms, own, shape_of(result), element_of(result))
        if table.is_recording or table.is_global(view.term):
            return view
    raise NotProvedError("no manual computation of the program computes the same on each device")


def _sources(walk: Walk, op: Operation) -> Sequence[Source]:
    """Return, for the result of each device, the devices of the operands."""
    if op.name == PERMUTATION:
        source_of = {target: source for source, target in pairs_of(op)}
        return [(0, (source_of[device],) if device in source_of else ()) for device in range(walk.devices)]
    table = ragged_all_to_all_groups(op)
    if op.name not in GROUPED and table is None:
        return _alone(walk)
    found: list[Source] = [(0, ())] * walk.devices
    for group in groups_of(walk, op) if table is None else listed_groups(table, walk.devices):
        for position, device in enumerate(group):
            found[device] = (0 if op.name in SAME_FOR_ALL else position, group)
    return found


def _alone(walk: Walk) -> Sequence[Source]:
    return [(0, (device,)) for device in range(walk.devices)]
