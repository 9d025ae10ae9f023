"""Padding rules of ops that combine elements: padding must be the identity element of the combiner.

Source: docs/spec/06, 8.2 (G41).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.constants.elements import Scalar
from sdy.dialects.facts.traits import are_combiners
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import gather_scatter, reduction, window
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.sharded_emitter import annotated, is_zero_constant
from sdy.partitioner.on_shards.combiners import combiners_of, constant_scalar, identity_element, index_bounds
from sdy.partitioner.on_shards.selecting_bodies import ignores_trailing_inits
from sdy.partitioner.on_shards.shard_windows import window_dim_of_update
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()


@RULES.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp) -> Rule:
    """Mask the reduced dims with the identity element of the body."""
    dims = ints_of(op.dimensions)

    def pad(padder: Padder) -> None:
        padded = [value for value in op.inputs if set(dims).intersection(padder.facts.padded_dims(value))]
        neutral = _neutral_elements(op) if padded else ()
        if neutral is None:
            compute_unpadded(op, padder)
            return
        emit = padder.emitter(op)
        for index, element in enumerate(neutral):
            op.operands[index] = padder.masked_with(emit, op.operands[index], element, dims)
        padder.resize_to_targets(op.results)

    return pad


def _neutral_elements(op: reduction.ReduceOp) -> Sequence[Scalar] | None:
    """Return, for each input, an element that can follow its elements without changing the result, or None."""
    combiners = combiners_of(op.body)
    if combiners is None:
        inits = [constant_scalar(init) for init in op.init_values]
        known = [init for init in inits if init is not None]
        return known if len(known) == len(inits) and ignores_trailing_inits(op.body.block, inits) else None
    if not are_combiners(combiners):
        return None
    # A sum that begins with 0.0 is never -0.0, so the padding may be 0.0, which it usually is.
    return [
        0 if combiner is AddOp and is_zero_constant(init) else identity_element(combiner, element_type_of(init))
        for combiner, init in zip(combiners, op.init_values, strict=True)
    ]


@RULES.of(window.ReduceWindowOp, window.SelectAndScatterOp)
def windows(op: window.PoolingOp) -> Rule:
    """Keep the padding of dims along which windows have size 1; compute without padding otherwise."""
    sizes = op.window_dimensions
    strides = op.window_strides

    def pad(padder: Padder) -> None:
        padded = {dim for operand in op.operands for dim in padder.facts.padded_dims(operand)}
        windowed = [
            dim
            for dim in padded
            if (sizes is not None and ints_of(sizes)[dim] != 1) or (strides is not None and ints_of(strides)[dim] != 1)
        ]
        if windowed or not _pads_equally(op, padder):
            compute_unpadded(op, padder)
        else:
            padder.resize_to_targets(op.results)

    return pad


def _pads_equally(op: window.PoolingOp, padder: Padder) -> bool:
    """Return whether all tensors have the same true and target sizes along each dim with padding in any of them."""
    ranked = [value for value in (*op.operands, *op.results) if shape_of(value)]
    targets = [padder.facts.target_sizes(value) for value in ranked]
    uneven = [
        {dim for dim, size in enumerate(sizes) if size != padder.facts.true_sizes(value)[dim]}
        for value, sizes in zip(ranked, targets, strict=True)
    ]
    sizes = [
        (*zip(padder.facts.true_sizes(value), own, strict=True),) for value, own in zip(ranked, targets, strict=True)
    ]
    return all(len({own[dim] for own in sizes}) == 1 for dim in set[int]().union(*uneven))


@RULES.of(gather_scatter.ScatterOp)
def scatter(op: gather_scatter.ScatterOp) -> Rule:
    """Give padded updates indices that are out of bounds."""
    numbers = op.scatter_dimension_numbers.data

    def pad(padder: Padder) -> None:
        windowed = {*numbers.scatter_dims_to_operand_dims} - {*numbers.inserted_window_dims}
        indices = op.scatter_indices
        # A window that ends in the padding would be written partly, instead of not at all.
        ends_in_padding = any(windowed.intersection(padder.facts.padded_dims(value)) for value in op.inputs)
        has_padded_vectors = numbers.index_vector_dim in padder.facts.padded_dims(indices)
        grows = any(
            shape_of(value) != padder.facts.target_sizes(new) for value, new in zip(op.inputs, op.results, strict=True)
        )
        if ends_in_padding or has_padded_vectors or grows or _writes_padding(op, padder):
            compute_unpadded(op, padder)
            return
        dims = [dim for dim in range(len(shape_of(indices))) if dim != numbers.index_vector_dim]
        if set(dims).intersection(padder.facts.padded_dims(indices)):
            op.operands[len(op.inputs)] = _out_of_bounds_in_padding(op, padder, dims)
        padder.resize_to_targets(op.results)

    return pad


def _out_of_bounds_in_padding(op: gather_scatter.ScatterOp, padder: Padder, dims: Sequence[int]) -> SSAValue:
    """Return the indices with one in the padding of `dims` for which no element of a window is in bounds.

    Without such an index in their type, they are converted to i64.
    """
    emit, indices = padder.emitter(op), op.scatter_indices
    largest_dim = max(shape_of(op.inputs[0]), default=0)  # no window is larger
    least, largest = index_bounds(element_type_of(indices))
    if least > -largest_dim and largest < largest_dim:
        converted = annotated(emit.convert(indices, i64), sharding_of(indices))
        indices = padder.facts.record(converted, padder.facts.true_sizes(indices))
        least, _ = index_bounds(i64)
    return padder.masked_with(emit, indices, least if least <= -largest_dim else largest, dims)


def _writes_padding(op: gather_scatter.ScatterOp, padder: Padder) -> bool:
    """Return whether some window of the updates has other padding than the input."""
    for dim, size in enumerate(shape_of(op.inputs[0])):
        window = window_dim_of_update(op, dim)
        for value, update in zip(op.inputs, op.updates, strict=True):
            if window is not None and window in padder.facts.padded_dims(update):
                sizes = padder.facts.true_sizes(value)[dim], padder.facts.true_sizes(update)[window]
                if shape_of(update)[window] != size or sizes[0] != sizes[1]:
                    return True
    return False
