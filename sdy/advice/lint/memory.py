"""Rules on memory.

SDY-S411 finds dims that are padded because the axes do not divide them, SDY-S414 donations without effect, and SDY-S416
arguments that are updated, such as the moments of Adam, but sharded less than their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.advice.edits import Edit, with_axis
from sdy.advice.lint.finding import Candidate, Fix, and_others
from sdy.advice.lint.linted_program import LintedProgram, Target, divisible_dims
from sdy.advice.lint.price import Cost
from sdy.advice.lint.uses import fix_of
from sdy.advice.partition_summary import axes_of_dims
from sdy.cost.allocation.buffers import aliased_results
from sdy.dialects.facts.traits import is_elementwise, passes_through
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.model.axis_list import sharded_size
from sdy.model.sharding import TensorSharding

# SDY-S411


def uneven_dims(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the arguments and results with a dim that its axes do not divide, so that shards are padded."""
    local = main_function(linted.compiled.local).function_type
    local_types = dict(zip(linted.boundary, (*local.inputs, *local.outputs), strict=True))
    for target in linted.boundary_axes:
        sharding, shape = linted.annotation(target), static_shape(linted.type(target))
        tensor = as_tensor(linted.type(target))
        if sharding is None or shape is None or tensor is None:
            continue
        counts = [sharded_size(dim.axes, linted.mesh) for dim in sharding.dims]
        uneven = [dim for dim, count in enumerate(counts) if shape[dim] % count]
        if not uneven:
            continue
        wasted = tensor_bytes(local_types[target]) - tensor_bytes(tensor) / prod(counts)
        dim, name, span = uneven[0], linted.names.name(target), linted.names.span(target)
        yield Candidate(
            "SDY-S411",
            f"dim {dim} of {name} has {shape[dim]} elements for {counts[dim]} shards, so that shards are padded",
            Cost(memory=wasted),
            list(_divisible(linted, target, sharding, dim, shape)),
            span=span,
            subject=f"boundary {name}",
        )


def _divisible(
    linted: LintedProgram, target: Target, sharding: TensorSharding, dim: int, shape: tuple[int, ...]
) -> Iterator[Fix]:
    """Yield the fixes that shard another dim along the minor axis of an uneven dim."""
    axis = sharding.dims[dim].axes[-1]
    for other in divisible_dims(shape, sharding, axis, linted.mesh):
        if other != dim:
            edit = Edit(target, with_axis(sharding, other, axis))
            yield fix_of(linted, edit)


# SDY-S414


def idle_donations(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the donated arguments whose memory cannot be reused, as the result is sharded otherwise."""
    for argument, result in aliased_results(linted.main).items():
        value = linted.main.body.block.args[argument]
        own, other = (linted.boundary_axes.get(target) for target in (value, result))
        if (
            own is None
            or other is None
            or axes_of_dims(own) == axes_of_dims(other)
            or value.type != linted.type(result)
        ):
            continue
        name, result_name, span = linted.names.name(value), linted.names.name(result), linted.names.span(value)
        edits = (Edit(result, linted.closed(own)), Edit(value, linted.closed(other)))
        yield Candidate(
            "SDY-S414",
            f"{name} is donated to {result_name}, but sharded otherwise, so that its memory is not reused",
            Cost(memory=min(linted.local_bytes(value, own), linted.local_bytes(result, other))),
            [fix_of(linted, edit) for edit in edits],
            span=span,
            subject=f"boundary {result_name}",
        )


# SDY-S416


@dataclass(frozen=True, slots=True)
class _Update:
    """An argument and the result that takes its place in the next step, with the argument that is sharded more."""

    argument: SSAValue
    result: int
    leader: SSAValue


def replicated_states(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield one candidate for all arguments that are updated, and sharded less than an argument they meet elementwise.

    The fix gives the argument and its result, in all layers at once, the sharding of that other argument. Any of these
    alone would need a reshard.
    """
    updates = list(_updates(linted))
    if not updates:
        return
    wasted, edits = 0.0, dict[Target, Edit]()
    for each in updates:
        sharding = linted.closed(linted.boundary_axes[each.leader])
        wasted += linted.local_bytes(each.argument, linted.boundary_axes[each.argument])
        wasted -= linted.local_bytes(each.leader, sharding)
        for target in (each.argument, each.result):
            edits[target] = Edit(target, sharding)
    first = updates[0]
    name, leader = (linted.names.name(target) for target in (first.argument, first.leader))
    yield Candidate(
        "SDY-S416",
        f"{and_others(name, len(updates) - 1)} is updated together with {leader}, but sharded less",
        Cost(memory=wasted),
        [fix_of(linted, *edits.values())],
        needs_fix=True,
        span=linted.names.span(first.argument),
        subject=f"boundary {name}",
    )


def _updates(linted: LintedProgram) -> Iterator[_Update]:
    """Yield the updated arguments that are sharded less than an argument of the same shape, in their order."""
    leaders: dict[int, int] = {}
    arguments, sources = linted.main.body.block.args, _elementwise_sources(linted.final_main)
    for group in sources:
        known = [index for index in group if arguments[index] in linted.boundary_axes]
        if known:
            leader = min(known, key=lambda index: (_shard_bytes(linted, arguments[index]), index))
            for index in known:
                if _shard_bytes(linted, arguments[index]) > _shard_bytes(linted, arguments[leader]):
                    leaders.setdefault(index, leader)
    results = _updated_results(linted, sources)
    for index, leader in sorted(leaders.items()):
        if index in results and results[index] in linted.boundary_axes:
            yield _Update(arguments[index], results[index], arguments[leader])


def _shard_bytes(linted: LintedProgram, target: Target) -> float:
    return linted.local_bytes(target, linted.boundary_axes[target])


def _updated_results(linted: LintedProgram, sources: Sequence[frozenset[int]]) -> dict[int, int]:
    """Return the result that takes the place of each argument: by donation, or the only one that is left by data flow.

    The first moment of Adam depends elementwise on the old one alone; the new weights on the old ones and both moments.
    """
    found = aliased_results(linted.main)
    taken = set(found.values())
    for result in sorted(range(len(sources)), key=lambda result: len(sources[result])):
        left = [index for index in sources[result] if index not in found]
        if result not in taken and len(left) == 1:
            found[left[0]] = result
    return found


def _elementwise_sources(main: FuncOp) -> list[frozenset[int]]:
    """Return, for each result of a function, the arguments of its type that it depends on through elementwise ops."""
    known: dict[SSAValue, frozenset[int]] = {}

    def of(value: SSAValue) -> frozenset[int]:
        return known.get(value, frozenset())

    block = main.body.block
    for argument in block.args:
        known[argument] = frozenset({argument.index})
    for op in block.ops:
        if passes_through(op):
            known.update(zip(op.results, map(of, op.operands), strict=True))
        elif isinstance(op, CollectiveOp) or is_elementwise(op):
            for result in op.results:
                known[result] = frozenset[int]().union(*map(of, op.operands))
    returned = block.last_op.operands if block.last_op is not None else ()
    return [frozenset(index for index in of(value) if block.args[index].type == value.type) for value in returned]
