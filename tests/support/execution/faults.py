"""Seeded faults: local programs with one wrong op, as a broken partitioner makes them.

The faults of collectives are in this module, those of the data between them in `data_faults`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
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
from sdy.partitioner.emit.emitter import Emitter, Style, with_shape
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.rewriting.insertion import erase, insert_before, redirect_other_uses, replace_op
from support.execution.data_faults import DATA_FAULTS
from support.execution.fault_table import FaultTable

COLLECTIVE_FAULTS = FaultTable()
GROUPED = (AllGatherOp, AllReduceOp, AllToAllOp, ReduceScatterOp)
_OPPOSITES: dict[type[Operation], type[Operation]] = {AddOp: MaximumOp, MaximumOp: AddOp}


def faulty_copies(local: ModuleOp, seed: int) -> Iterator[tuple[str, ModuleOp]]:
    """Yield copies of a local program with one fault each, and what the fault is.

    The kinds of faults take turns; the ops that a kind changes come in random order.
    """
    generator = random.Random(seed)
    positions: dict[str, list[int]] = {name: [] for name in FAULTS.entries}
    for position, op in enumerate(pre_order(local)):
        for name in FAULTS.names_for(op):
            positions[name].append(position)
    for each in positions.values():
        generator.shuffle(each)
    names = generator.sample(list(positions), len(positions))
    while names:
        names = [name for name in names if positions[name]]
        for name in names:
            position = positions[name].pop()
            copy = local.clone()
            op = pre_order(copy)[position]
            if FAULTS.change(name, op, random.Random(seed)):
                yield f"{name} at op {position}, {op.name}", copy


@COLLECTIVE_FAULTS.of("a dropped collective", *GROUPED, CollectivePermuteOp)
def _drop(op: Operation, choice: random.Random) -> bool:
    """Each device keeps what it has: its own shard, repeated or sliced if the result has another shape."""
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


@COLLECTIVE_FAULTS.of("a doubled collective", *GROUPED, CollectivePermuteOp)
def _repeat(op: Operation, choice: random.Random) -> bool:
    """The result is exchanged again between the same devices. A maximum of maxima would stay the same."""
    if len(op.operands) != 1 or op.operands[0].type != op.results[0].type:
        return False
    if isinstance(op, AllReduceOp) and not _body_has(op, AddOp):
        return False
    again = op.clone()
    insert_before(op, again)
    op.operands[0] = again.results[0]
    return True


@COLLECTIVE_FAULTS.of("wrong groups", *GROUPED)
def _exchange_devices(op: Operation, choice: random.Random) -> bool:
    """Two devices of different groups change places."""
    groups = _groups(op)
    if groups is None or len(groups) < 2 or len(groups[0]) < 2:
        return False
    first, second = choice.sample(range(len(groups)), 2)
    here, there = choice.randrange(len(groups[0])), choice.randrange(len(groups[0]))
    groups[first][here], groups[second][there] = groups[second][there], groups[first][here]
    _set_groups(op, groups)
    return True


@COLLECTIVE_FAULTS.of("a wrong axis", *GROUPED)
def _take_other_axis(op: Operation, choice: random.Random) -> bool:
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


@COLLECTIVE_FAULTS.of("transposed axes", AllGatherOp, AllToAllOp, ReduceScatterOp)
def _transpose_axes(op: Operation, choice: random.Random) -> bool:
    """Each group has its devices in the order of transposed axes, or backwards if it has a prime number of them."""
    groups = _groups(op)
    if groups is None or len(groups[0]) < 2:
        return False
    size = len(groups[0])
    minor = next((each for each in range(2, size) if size % each == 0), 0)
    order = [each for start in range(minor) for each in range(start, size, minor)] or list(reversed(range(size)))
    _set_groups(op, [[group[each] for each in order] for group in groups])
    return True


@COLLECTIVE_FAULTS.of("a wrong dim", AllGatherOp, ReduceScatterOp)
def _take_other_dim(op: AllGatherOp | ReduceScatterOp, choice: random.Random) -> bool:
    """The shards are gathered or scattered along another dim."""
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


@COLLECTIVE_FAULTS.of("exchanged dims", AllToAllOp)
def _exchange_dims(op: AllToAllOp, choice: random.Random) -> bool:
    """The dim that is split and the one that is concatenated change places."""
    sizes, count = list(shape_of(op.operands[0])), op.split_count.value.data
    split, joined = op.split_dimension, op.concat_dimension
    if len(op.operands) != 1 or split == joined or sizes[joined.value.data] % count or op.next_op is None:
        return False
    wanted, result = shape_of(op.results[0]), op.results[0]
    sizes[joined.value.data] //= count
    sizes[split.value.data] *= count
    op.split_dimension, op.concat_dimension = joined, split
    result_type = with_shape(result, sizes)
    redirect_other_uses(result, Emitter(op.next_op, Style()).reshape(result, wanted))
    set_type(result, result_type)
    return True


@COLLECTIVE_FAULTS.of("a maximum for a sum", AllReduceOp, ReduceScatterOp)
def _take_other_reducer(op: Operation, choice: random.Random) -> bool:
    """The maximum takes the place of the sum, or the sum that of the maximum."""
    for inner in pre_order(op):
        other = _OPPOSITES.get(type(inner))
        if other is not None:
            replace_op(inner, other.create(operands=inner.operands, result_types=[inner.results[0].type]))
            return True
    return False


@COLLECTIVE_FAULTS.of("a wrong direction", CollectivePermuteOp)
def _reverse_direction(op: CollectivePermuteOp, choice: random.Random) -> bool:
    """A permutation sends from the targets to the sources."""
    ids = op.source_target_pairs.get_ints()
    swapped = [each for start in range(0, len(ids), 2) for each in (ids[start + 1], ids[start])]
    op.source_target_pairs = DenseElementsAttr.from_values(op.source_target_pairs.type, swapped)
    return True


FAULTS = FaultTable({**COLLECTIVE_FAULTS.entries, **DATA_FAULTS.entries})


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
