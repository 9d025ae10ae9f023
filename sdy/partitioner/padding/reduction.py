"""Padding of ops that combine elements along padded dims: with the element that changes nothing.

Source: docs/spec/06, 8.2 (G41).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from sdy.dialects.constants.elements import Scalar
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import gather_scatter, reduction, window
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.elementwise import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.sharded_emitter import is_zero_constant
from sdy.partitioner.on_shards.combiners import combiners_of, constant_scalar, extreme, identity_element
from sdy.partitioner.on_shards.selecting_bodies import ignores_trailing_inits
from sdy.partitioner.on_shards.shard_windows import window_dim_of_update
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()

WITH_IDENTITY = frozenset[type[Operation]]((AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp))


@RULES.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp) -> Rule:
    """The identity of the body along the dims that go."""
    dims = ints_of(op.dimensions)

    def pad(padder: Padder) -> None:
        padded = [value for value in op.inputs if set(dims).intersection(padder.padded_dims(value))]
        neutral = _neutral_elements(op) if padded else ()
        if neutral is None:
            padder.compute_whole(op)
            return
        emit = padder.emitter(op)
        for index, element in enumerate(neutral):
            op.operands[index] = padder.masked_by(emit, op.operands[index], element, dims)
        padder.make_even(op.results)

    return pad


def _neutral_elements(op: reduction.ReduceOp) -> Sequence[Scalar] | None:
    """What the body may be given behind the elements of each input, without a change of what it gives."""
    combiners = combiners_of(op.body)
    if combiners is None:
        inits = [constant_scalar(init) for init in op.init_values]
        known = [init for init in inits if init is not None]
        return known if len(known) == len(inits) and ignores_trailing_inits(op.body.block, inits) else None
    if not WITH_IDENTITY.issuperset(combiners):
        return None
    # A sum that begins with 0.0 is never -0.0: the zeros of padding do, which are mostly there.
    return [
        0 if combiner is AddOp and is_zero_constant(init) else identity_element(combiner, element_type_of(init))
        for combiner, init in zip(combiners, op.init_values, strict=True)
    ]


@RULES.of(window.ReduceWindowOp, window.SelectAndScatterOp)
def windows(op: window.ReduceWindowOp | window.SelectAndScatterOp) -> Rule:
    """Padded dims are those along which a window is one element; others are computed whole."""
    sizes = op.window_dimensions
    strides = op.window_strides

    def pad(padder: Padder) -> None:
        padded = {dim for operand in op.operands for dim in padder.padded_dims(operand)}
        windowed = [
            dim
            for dim in padded
            if (sizes is not None and ints_of(sizes)[dim] != 1) or (strides is not None and ints_of(strides)[dim] != 1)
        ]
        if windowed or not _are_padded_alike(op, padder):
            padder.compute_whole(op)
        else:
            padder.make_even(op.results)

    return pad


def _are_padded_alike(op: window.ReduceWindowOp | window.SelectAndScatterOp, padder: Padder) -> bool:
    """Whether all tensors are of one size, and are to be of one, along each dim that has padding in any of them."""
    ranked = [value for value in (*op.operands, *op.results) if shape_of(value)]
    wanted = [padder.wanted(value) for value in ranked]
    uneven = [
        {dim for dim, size in enumerate(sizes) if size != padder.true_sizes(value)[dim]}
        for value, sizes in zip(ranked, wanted, strict=True)
    ]
    sizes = [(*zip(padder.true_sizes(value), own, strict=True),) for value, own in zip(ranked, wanted, strict=True)]
    return all(len({own[dim] for own in sizes}) == 1 for dim in set[int]().union(*uneven))


@RULES.of(gather_scatter.ScatterOp)
def scatter(op: gather_scatter.ScatterOp) -> Rule:
    """Padded updates go to places that do not exist."""
    numbers = op.scatter_dimension_numbers.data

    def pad(padder: Padder) -> None:
        windowed = {*numbers.scatter_dims_to_operand_dims} - {*numbers.inserted_window_dims}
        indices = op.scatter_indices
        # A window that ends in the padding would be written in part, instead of not at all.
        ends_in_padding = any(windowed.intersection(padder.padded_dims(value)) for value in op.inputs)
        has_padded_vectors = numbers.index_vector_dim in padder.padded_dims(indices)
        grows = any(shape_of(value) != padder.wanted(new) for value, new in zip(op.inputs, op.results, strict=True))
        if ends_in_padding or has_padded_vectors or grows or _writes_padding(op, padder):
            padder.compute_whole(op)
            return
        dims = [dim for dim in range(len(shape_of(indices))) if dim != numbers.index_vector_dim]
        place = len(op.inputs)
        # So far outside that no part of a window is inside: the least number, or the largest where none is negative.
        nowhere = extreme(element_type_of(indices), largest=False) or extreme(element_type_of(indices), largest=True)
        op.operands[place] = padder.masked_by(padder.emitter(op), indices, nowhere, dims)
        padder.make_even(op.results)

    return pad


def _writes_padding(op: gather_scatter.ScatterOp, padder: Padder) -> bool:
    """Whether some window of the updates has padding where the input has none, or another one."""
    for dim, size in enumerate(shape_of(op.inputs[0])):
        window = window_dim_of_update(op, dim)
        for value, update in zip(op.inputs, op.updates, strict=True):
            if window is not None and window in padder.padded_dims(update):
                sizes = padder.true_sizes(value)[dim], padder.true_sizes(update)[window]
                if shape_of(update)[window] != size or sizes[0] != sizes[1]:
                    return True
    return False
