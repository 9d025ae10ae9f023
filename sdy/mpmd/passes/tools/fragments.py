"""Make fragments: around one op, from two fragments, or anew; and the facts that rules and schedules ask of them.

Source: docs/spec/07, 4.4 to 4.8, 4.12 and 4.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, TensorType, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from sdy.diagnostics.diagnostic import InternalError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, redirect_uses, replace_uses
from sdy.dialects.ir.walk import ops_of
from sdy.mpmd.dialect.attrs import UserOriginAttr, is_cpu_mesh
from sdy.mpmd.dialect.functions import mesh_names
from sdy.mpmd.dialect.ops import CALL_COUNTER, AssignOp, UnassignOp, ui32
from sdy.mpmd.dialect.regions import CONTROL_START, INFERRED_BY, FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.tools.uses import distinct, users_of
from sdy.mpmd.schedules.builtin import Unit
from sdy.mpmd.schedules.fragment_info import FragmentInfo, SplitType
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.rewriting.structural_hash import used_from_outside

Attributes = Mapping[str, Attribute]


def inferred_by(*passes: str) -> dict[str, Attribute]:
    """Return the attribute of a fragment that the compiler made, with the names of the passes that did."""
    return {INFERRED_BY: ArrayAttr(map(StringAttr, passes))}


def inferring_passes(fragment: FragmentOp) -> list[str]:
    """Return the passes that made a fragment."""
    names = fragment.attributes.get(INFERRED_BY)
    found = cast("ArrayAttr[Attribute]", names).data if isinstance(names, ArrayAttr) else ()
    return [each.data for each in found if isinstance(each, StringAttr)]


def fragments_of(func: FuncOp) -> list[FragmentOp]:
    """Return the fragments directly in a function, in order."""
    return [op for op in func.body.block.ops if isinstance(op, FragmentOp)]


def wrap_in_fragment(op: Operation, mesh: str, made_by: str, may_use: Callable[[Use], bool] = lambda _: True) -> None:
    """Insert a fragment with a copy of `op` before it, and let the uses that `may_use` accepts use its results.

    The op itself stays; the caller erases it.
    """
    values = distinct(used_from_outside(op))
    inputs = [assigned(op, value, mesh) for value in values]
    types = [on_mesh(result.type, mesh) for result in op.results]
    fragment = FragmentOp.make(mesh, (), inputs, types, attributes=inferred_by(made_by))
    copy = copy_with_regions(op, dict(zip(values, fragment.block.args, strict=True)))
    fragment.block.add_ops([copy, ReturnOp(*copy.results)])
    insert_before(op, fragment)
    for result, output in zip(op.results, fragment.results, strict=True):
        local = unassigned(op, output)
        redirect_uses(result, [use for use in result.uses if may_use(use)], local)


def assigned(op: Operation, value: SSAValue, mesh: str, origin: str | None = None) -> SSAValue:
    """Return a local value on a mesh, where an assign before an op places it; a token is on no mesh."""
    is_tensor = isinstance(value.type, TensorType)
    return insert_before(op, AssignOp(value, mesh, origin)).result if is_tensor else value


def unassigned(op: Operation, value: SSAValue, origin: str | None = None) -> SSAValue:
    """Return the local value of one on a mesh, by an unassign before an op; a token is on no mesh."""
    is_on_mesh = isinstance(value.type, MeshTensorType)
    return insert_before(op, UnassignOp(value, origin)).result if is_on_mesh else value


def on_mesh(value_type: Attribute, mesh: str) -> Attribute:
    """Return the type of a local value on a mesh, all of it on each device; a token keeps its type."""
    if not isinstance(value_type, TensorType):
        return value_type
    return MeshTensorType.of(mesh, cast("TensorType[Attribute]", value_type))


def merge(producer: FragmentOp, consumer: FragmentOp, attributes: Attributes) -> FragmentOp:
    """Replace two fragments of one mesh by one at the place of the second, with these attributes.

    Every use of the producer must be at the consumer or after it. Raises: InternalError for different meshes or stages.
    """
    stages = {stage for each in (producer, consumer) if (stage := each.stage) is not None}
    if producer.mesh != consumer.mesh or len(stages) > 1:
        raise InternalError(f"fragments of meshes {producer.mesh}, {consumer.mesh}, stages {stages} cannot be merged")
    block = Block()
    inputs, taken = _merged_inputs(producer, consumer, block)
    own = [taken[producer, index] for index in range(len(producer.block.args))]
    passed: dict[SSAValue, SSAValue] = dict(zip(producer.results, _take_body(producer, block, own), strict=True))
    own = [
        taken.get((consumer, index)) or passed[value]
        for index, value in enumerate(consumer.operands[: consumer.data_operand_count])
    ]
    values = _take_body(consumer, block, own)
    kept = [result for result in producer.results if any(not consumer.is_ancestor(user) for user in users_of(result))]
    block.add_op(ReturnOp(*(passed[result] for result in kept), *values))
    controls = _controls(producer, consumer)
    results = [*kept, *consumer.results]
    merged = FragmentOp.make(
        producer.mesh,
        distinct([*producer.origins, *consumer.origins]),
        [*inputs, *controls],
        [each.type for each in results],
        Region(block),
        stage=next(iter(stages), None),
        attributes=attributes,
    )
    if controls:
        merged.attributes[CONTROL_START] = IntegerAttr(len(inputs), i64)
    insert_before(consumer, merged)
    for old, new in zip(results, merged.results, strict=True):
        replace_uses(old, new)
    erase(consumer)
    erase(producer)
    return merged


def _controls(producer: FragmentOp, consumer: FragmentOp) -> list[SSAValue]:
    """Return the control operands of both, without those that come from the other one.

    Shardy loses the producer's if the consumer uses its only result once, and the mark of the consumer's.
    """
    pairs = (producer, consumer), (consumer, producer)
    return [
        value
        for fragment, other in pairs
        for value in fragment.operands[fragment.data_operand_count :]
        if value.owner is not other
    ]


def _merged_inputs(
    producer: FragmentOp, consumer: FragmentOp, block: Block
) -> tuple[list[SSAValue], dict[tuple[FragmentOp, int], SSAValue]]:
    """Return the operands of a merged fragment, and the arguments, added to its block, for those of the two fragments.

    Equal operands are one, and those of the producer come first. But where the consumer uses its only result once, the
    producer's only operand takes the place of that use, and equal operands stay.
    """
    order = [(producer, index) for index in range(len(producer.block.args))]
    others = [(consumer, index) for index in range(consumer.data_operand_count)]
    uses = [use for result in producer.results for use in result.uses]
    is_chain = len(order) == len(producer.results) == len(uses) == 1 and uses[0].operation is consumer
    if is_chain and uses[0].index < len(others):
        others[uses[0].index] = order.pop()
    inputs: list[SSAValue] = []
    known: dict[SSAValue, SSAValue] = {}
    taken: dict[tuple[FragmentOp, int], SSAValue] = {}
    for fragment, index in (*order, *others):
        value = fragment.operands[index]
        if value.owner is producer:
            continue
        if is_chain or value not in known:
            inputs.append(value)
            known[value] = block.insert_arg(fragment.block.args[index].type, len(block.args))
        taken[fragment, index] = known[value]
    return inputs, taken


def _take_body(fragment: FragmentOp, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Move the ops of a fragment to the end of a block, and return the values that the fragment returns."""
    for old, new in zip(fragment.block.args, arguments, strict=True):
        replace_uses(old, new)
    end = terminator_of(fragment.body)
    returned = list(end.operands)
    erase(end)
    for op in list(fragment.block.ops):
        op.detach()
        block.add_op(op)
    return returned


def merged_attributes(producer: FragmentOp, consumer: FragmentOp) -> dict[str, Attribute]:
    """Return the attributes that a merged fragment gets from both: the call counter, and who made it."""
    kept: dict[str, Attribute] = {}
    counters = [each.attributes.get(CALL_COUNTER) for each in (producer, consumer)]
    users = [each.is_user_fragment for each in (producer, consumer)]
    if None in counters or counters[0] == counters[1]:
        counter = counters[1] if counters[0] is None else counters[0]
    else:
        counter = counters[users.index(True)] if sum(users) == 1 else None
    if counter is not None:
        kept[CALL_COUNTER] = counter
    makers = distinct([*inferring_passes(producer), *inferring_passes(consumer)])
    if makers and not any(users):
        kept |= inferred_by(*makers)
    return kept


def remove_control_dependencies(func: FuncOp) -> None:
    """Remove the operands that only order fragments."""
    for fragment in ops_of(func, FragmentOp):
        if CONTROL_START in fragment.attributes:
            fragment.operands = list(fragment.operands)[: fragment.data_operand_count]
            del fragment.attributes[CONTROL_START]


def add_control_dependency(first: FragmentOp, second: FragmentOp) -> None:
    """Order a fragment after another one, by a control operand."""
    if CONTROL_START not in second.attributes:
        second.attributes[CONTROL_START] = IntegerAttr(len(second.operands), i64)
    second.operands = [*second.operands, first.results[0]]


SPLIT_MARKS = {SplitType.KEEP: "split_keep_transferred", SplitType.DROP: "split_drop_transferred"}
REMAT = "remat"


def single_count(fragment: FragmentOp) -> int | None:
    """Return the transpose count that all origins share; None if they differ, or if there are none."""
    counts = {origin.transpose_count for origin in fragment.origins}
    return counts.pop() if len(counts) == 1 else None


def is_forward(fragment: FragmentOp) -> bool:
    """Return whether all origins are forward computations."""
    return single_count(fragment) == 0


def is_backward(fragment: FragmentOp) -> bool:
    """Return whether all origins were transposed once."""
    return single_count(fragment) == 1


def split_type(fragment: FragmentOp) -> SplitType | None:
    """Return which part of a split fragment this is, or None."""
    return next((split for split, mark in SPLIT_MARKS.items() if mark in fragment.attributes), None)


def next_on_mesh(fragment: FragmentOp) -> FragmentOp | None:
    """Return the next fragment of the block on the same mesh."""
    following = fragment.next_op
    while following is not None:
        if isinstance(following, FragmentOp) and following.mesh == fragment.mesh:
            return following
        following = following.next_op
    return None


def schedulable_meshes(func: FuncOp) -> list[str]:
    """Return the meshes of a function on which fragments are scheduled: all but CPUs."""
    return [name for name in mesh_names(func) if not is_cpu_mesh(name)]


def scheduling_units(func: FuncOp) -> dict[FragmentOp, Unit]:
    """Return the fragments directly in a function that a schedule orders, in order, and what it asks of them."""
    meshes = schedulable_meshes(func)
    return {
        fragment: Unit(
            fragment.mesh,
            meshes.index(fragment.mesh) if fragment.mesh in meshes else len(meshes),
            counter,
            is_backward(fragment),
            split_type(fragment) is SplitType.DROP,
            fragment.stage,
        )
        for fragment in fragments_of(func)
        if (counter := fragment.call_counter) is not None and (is_forward(fragment) or is_backward(fragment))
    }


def info_of(fragment: FragmentOp) -> FragmentInfo:
    """Return what rules know of a fragment."""
    origins = tuple(sorted(fragment.origins))
    return FragmentInfo(origins, fragment.stage, fragment.call_counter, split_type(fragment), fragment.mesh)


def set_info(fragment: FragmentOp, info: FragmentInfo) -> None:
    """Give a fragment the origins, stage, call counter, split mark and mesh of an info."""
    fragment.origin = ArrayAttr(map(UserOriginAttr, info.origins))
    fragment.mesh_name = StringAttr(info.mesh)
    fragment.stage_id = None if info.stage is None else IntegerAttr(info.stage, i64)
    for name in (CALL_COUNTER, *SPLIT_MARKS.values()):
        fragment.attributes.pop(name, None)
    if info.call_counter is not None:
        fragment.attributes[CALL_COUNTER] = IntegerAttr(info.call_counter, ui32)
    if info.split_type is not None:
        fragment.attributes[SPLIT_MARKS[info.split_type]] = UnitAttr()
