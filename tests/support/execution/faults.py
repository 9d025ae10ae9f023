"""Seeded faults: local programs with a wrong collective or a wrong offset, as a broken partitioner makes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CollectivePermuteOp,
    ReduceScatterOp,
)
from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.partitioner.emit.emitter import Emitter, Style, with_shape
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.rewriting.insertion import erase, insert_before, redirect_other_uses, replace_op

Fault = Callable[[Operation, random.Random], bool]
"""Changes an op, and returns True; returns False, and changes nothing, if it does not apply to the op."""


def faulty_copies(local: ModuleOp, seed: int) -> Iterator[tuple[str, ModuleOp]]:
    """Yield copies of a local program with one fault each, in random order, and what the fault is."""
    count = len(pre_order(local))
    places = [(name, position) for name in FAULTS for position in range(count)]
    random.Random(seed).shuffle(places)
    for name, position in places:
        copy = local.clone()
        op = pre_order(copy)[position]
        if FAULTS[name](op, random.Random(seed)):
            yield f"{name} at op {position}, {op.name}", copy


def dropped(op: Operation, choice: random.Random) -> bool:
    """Each device keeps what it has: its own shard, repeated or sliced if the result has another shape."""
    if not isinstance(op, AllGatherOp | AllReduceOp | AllToAllOp | CollectivePermuteOp | ReduceScatterOp):
        return False
    if len(op.operands) != 1:
        return False
    emit, value = Emitter(op, Style()), op.operands[0]
    for dim, needed in enumerate(shape_of(op.results[0])):
        size = shape_of(value)[dim]
        if size > needed:
            value = slice_along(emit, value, dim, 0, needed)
        elif size < needed:
            value = emit.concatenate([value] * (needed // size), dim)
    op.results[0].replace_all_uses_with(value)
    erase(op)
    return True


def other_groups(op: Operation, choice: random.Random) -> bool:
    """Two devices of different groups change places."""
    groups = _groups(op)
    if groups is None or len(groups) < 2 or len(groups[0]) < 2:
        return False
    first, second = choice.sample(range(len(groups)), 2)
    here, there = choice.randrange(len(groups[0])), choice.randrange(len(groups[0]))
    groups[first][here], groups[second][there] = groups[second][there], groups[first][here]
    _set_groups(op, groups)
    return True


def other_axis(op: Operation, choice: random.Random) -> bool:
    """The groups run along another axis of the mesh."""
    groups = _groups(op)
    if groups is None or len(groups) < 2 or len(groups[0]) < 2:
        return False
    ids, size = sorted(each for group in groups for each in group), len(groups[0])
    rows = [ids[start : start + size] for start in range(0, len(ids), size)]
    columns = [ids[start :: len(ids) // size] for start in range(len(ids) // size)]
    others = [each for each in (rows, columns) if each != groups]
    _set_groups(op, others[0])
    return True


def other_dim(op: Operation, choice: random.Random) -> bool:
    """The shards are gathered or scattered along another dim."""
    if not isinstance(op, AllGatherOp | ReduceScatterOp):
        return False
    is_gather, result = isinstance(op, AllGatherOp), op.results[0]
    name = "all_gather_dim" if is_gather else "scatter_dimension"
    dim = cast("IntegerAttr", op.properties[name]).value.data
    given, wanted = list(shape_of(op.operands[0])), shape_of(result)
    count = max(wanted[dim], given[dim]) // max(1, min(wanted[dim], given[dim]))
    others = [each for each, size in enumerate(given) if each != dim and (is_gather or size % count == 0)]
    if not others or count < 2 or len(op.operands) != 1 or op.next_op is None:
        return False
    other = choice.choice(others)
    given[other] = given[other] * count if is_gather else given[other] // count
    op.properties[name] = IntegerAttr(other, i64)
    result_type = with_shape(result, given)
    reshaped = Emitter(op.next_op, Style()).reshape(result, wanted)
    redirect_other_uses(result, reshaped)
    set_type(result, result_type)
    return True


def counted_twice(op: Operation, choice: random.Random) -> bool:
    """A sum is summed again over the same devices."""
    if not isinstance(op, AllReduceOp) or len(op.operands) != 1 or not _body_has(op, AddOp):
        return False
    again = op.clone()
    insert_before(op, again)
    op.operands[0] = again.results[0]
    return True


def maximum_for_sum(op: Operation, choice: random.Random) -> bool:
    """The maximum takes the place of the sum, or the sum that of the maximum."""
    if not isinstance(op, AllReduceOp | ReduceScatterOp):
        return False
    for inner in pre_order(op):
        other = _OPPOSITES.get(type(inner))
        if other is not None:
            replace_op(inner, other.create(operands=inner.operands, result_types=[inner.results[0].type]))
            return True
    return False


def other_offset(op: Operation, choice: random.Random) -> bool:
    """The offsets of the shards, one per device, move by one device."""
    if not isinstance(op, ConstantOp) or op.value.is_splat:
        return False
    if len(shape_of(op.output)) != 1 or op.value.type.get_element_type() != i64:
        return False
    values = op.value.get_values()
    op.value = DenseElementsAttr.from_values(op.value.type, (*values[1:], values[0]))
    return True


def other_direction(op: Operation, choice: random.Random) -> bool:
    """A permutation sends from the targets to the sources."""
    if not isinstance(op, CollectivePermuteOp):
        return False
    ids = op.source_target_pairs.get_ints()
    swapped = [each for start in range(0, len(ids), 2) for each in (ids[start + 1], ids[start])]
    op.source_target_pairs = DenseElementsAttr.from_values(op.source_target_pairs.type, swapped)
    return True


FAULTS: dict[str, Fault] = {
    "a dropped collective": dropped,
    "wrong groups": other_groups,
    "a wrong axis": other_axis,
    "a wrong dim": other_dim,
    "a sum counted twice": counted_twice,
    "a maximum for a sum": maximum_for_sum,
    "a wrong offset": other_offset,
    "a wrong direction": other_direction,
}


_OPPOSITES: dict[type[Operation], type[Operation]] = {AddOp: MaximumOp, MaximumOp: AddOp}


def _groups(op: Operation) -> list[list[int]] | None:
    found = op.properties.get("replica_groups")
    if not isinstance(found, DenseElementsAttr):
        return None
    ids, size = list(found.get_ints()), found.type.get_shape()[1]
    return [ids[start : start + size] for start in range(0, len(ids), size)]


def _set_groups(op: Operation, groups: list[list[int]]) -> None:
    shape = cast("DenseElementsAttr", op.properties["replica_groups"]).type
    op.properties["replica_groups"] = DenseElementsAttr.from_values(shape, [each for group in groups for each in group])


def _body_has(op: Operation, op_class: type[Operation]) -> bool:
    return any(isinstance(inner, op_class) for inner in pre_order(op))
