"""The lemma of equal local values: in a manual computation, equal operands on each device give equal results there.

Where no other lemma relates the result of an op on shards to a value of all devices, the result stands for itself. The
local program computes the same if it applies the same op to the same operands on each device.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from xdsl.ir import Operation

from sdy.proof.collectives.lemmas import groups_of, pairs_of
from sdy.proof.devices.values import are_compared, describe, stacked, ways_to_read
from sdy.proof.factors import attributes_of
from sdy.proof.op_sets import PASSING
from sdy.proof.relations import NotProvedError, Relation
from sdy.proof.walk import Walk, element_of, shape_of

MOST_READINGS = 64  # ways to read the operands of one op
GROUPED = frozenset(f"stablehlo.{each}" for each in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all"))
BY_POSITION = frozenset({"stablehlo.reduce_scatter", "stablehlo.all_to_all"})
PERMUTATION = "stablehlo.collective_permute"
OF_DEVICES = ("replica_groups", "source_target_pairs", "channel_handle", "use_global_device_ids")
_EXCLUDED = PASSING | {"stablehlo.custom_call", "stablehlo.partition_id", "sdy.manual_computation"}


def local_results(walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Relation]:
    """Lemma: equal local operands give equal local results.

    Raises: NotProvedError if the op is none of a manual computation, or the global program computes no such results.
    """
    if op.name not in walk.lemmas or op.name in _EXCLUDED or not are_compared(walk, op):
        raise NotProvedError("an op whose results are not compared device by device")
    if op.name in GROUPED or op.name == PERMUTATION:
        return [_result(walk, op, [each], number) for number, each in enumerate(operands)]
    return [_result(walk, op, operands, number) for number in range(len(op.results))]


def _result(walk: Walk, op: Operation, operands: Sequence[Relation], number: int) -> Relation:
    result, table = op.results[number], walk.table
    regions = tuple(walk.combined_alone(each)[0] for each in op.regions)
    is_collective = op.name in GROUPED or op.name == PERMUTATION
    attributes = (op.name, attributes_of(op, *OF_DEVICES), regions, 0 if is_collective else number)
    sources = _sources(walk, op)
    for reading in islice(product(*(ways_to_read(each, table) for each in operands)), MOST_READINGS):
        found = [describe(each, walk.devices) for each in reading]
        own = [
            (position, tuple(tuple(each.own[device] for each in found) for device in devices))
            for position, devices in sources
        ]
        key = (*attributes, tuple(each.shared for each in found))
        terms = tuple(term for each in found for term in each.terms)
        view = stacked(table, key, terms, own, shape_of(result), element_of(result))
        if table.is_recording or table.is_global(view.term):
            return view
    raise NotProvedError("no manual computation of the program computes the same on each device")


def _sources(walk: Walk, op: Operation) -> list[tuple[int, tuple[int, ...]]]:
    """Return the devices whose operands the result of each device follows from, and its position among them."""
    if op.name == PERMUTATION:
        source_of = {target: source for source, target in pairs_of(op)}
        return [(0, (source_of[device],) if device in source_of else ()) for device in range(walk.devices)]
    if op.name not in GROUPED:
        return [(0, (device,)) for device in range(walk.devices)]
    found: list[tuple[int, tuple[int, ...]]] = [(0, ())] * walk.devices
    for group in groups_of(walk, op):
        for position, device in enumerate(group):
            found[device] = (position if op.name in BY_POSITION else 0, group)
    return found
