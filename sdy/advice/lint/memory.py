"""Rules on memory: SDY-S411 (padding of dims that the axes do not divide) and SDY-S414 (donation without effect)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from sdy.advice.edits import Edit, with_axis
from sdy.advice.lint.finding import Candidate, Fix
from sdy.advice.lint.linted_program import LintedProgram, divisible_dims
from sdy.advice.lint.price import Cost
from sdy.advice.lint.target_names import Target
from sdy.advice.lint.uses import fix_of
from sdy.advice.partition_facts import axes_of_dims
from sdy.cost.allocation.buffers import aliased_results
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.model.axis_list import sharded_size
from sdy.model.sharding import TensorSharding

# SDY-S411


def uneven_dims(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the arguments and results with a dim that its axes do not divide, so that shards are padded."""
    local = main_function(linted.program.local).function_type
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
