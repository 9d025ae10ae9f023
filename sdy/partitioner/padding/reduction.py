"""Padding of ops that combine elements along padded dims: with the element that changes nothing.

Source: spec of local lowering, section 8.2 (G41).
"""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.op_table import OpTable
from sdy.dialects.stablehlo import gather_scatter, reduction, window
from sdy.dialects.stablehlo.clauses import ints_of
from sdy.dialects.stablehlo.elementwise import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from sdy.dialects.stablehlo.types import element_type_of
from sdy.partitioner.annotated import is_zero_constant
from sdy.partitioner.combining_bodies import combiners_of
from sdy.partitioner.local.combining import identity
from sdy.partitioner.local.emitter import shape_of
from sdy.partitioner.padding.padder import Padder, Rule

RULES = OpTable[Rule]()

WITH_IDENTITY = frozenset[type[Operation]]((AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp))


@RULES.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp) -> Rule:
    """The identity of the body along the dims that go."""
    dims = ints_of(op.dimensions)

    def pad(padder: Padder) -> None:
        emit = padder.emitter(op)
        combiners = combiners_of(op.body)
        for index, value in enumerate(tuple(op.inputs)):
            if not set(dims).intersection(padder.padded_dims(value)):
                continue
            if combiners is None or combiners[index] not in WITH_IDENTITY:
                raise padder.refuse(op, value)
            # A sum that begins with 0.0 is never -0.0: the zeros of padding do, which are mostly there.
            is_from_zero = combiners[index] is AddOp and is_zero_constant(op.init_values[index])
            element = 0 if is_from_zero else identity(combiners[index], element_type_of(value))
            op.operands[index] = padder.masked_by(emit, value, element, dims)
        padder.make_even(op.results)

    return pad


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
        if windowed:
            padder.compute_whole(op)
        else:
            padder.make_even(op.results)

    return pad


@RULES.of(gather_scatter.ScatterOp)
def scatter(op: gather_scatter.ScatterOp) -> Rule:
    """Padded updates go to places that do not exist."""
    numbers = op.scatter_dimension_numbers.data

    def pad(padder: Padder) -> None:
        windowed = {*numbers.scatter_dims_to_operand_dims} - {*numbers.inserted_window_dims}
        for value in op.inputs:
            # A window that ends in the padding would be written in part, instead of not at all.
            if windowed.intersection(padder.padded_dims(value)):
                raise padder.refuse(op, value)
        indices = op.scatter_indices
        dims = [dim for dim in range(len(shape_of(indices))) if dim != numbers.index_vector_dim]
        place = len(op.inputs)
        nowhere = identity(AndOp, element_type_of(indices))  # all ones: negative, or larger than any dim
        op.operands[place] = padder.masked_by(padder.emitter(op), indices, nowhere, dims)
        padder.make_even(op.results)

    return pad
