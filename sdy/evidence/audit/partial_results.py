"""Check that the results of an op combine from partial results, each computed from one slice of its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.elementwise import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.evidence.audit.one_op import OneOp
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type, is_bool, is_complex, is_float
from sdy.partitioner.on_shards.combiners import identity_element

ROUNDS = 2  # of any numbers, and of small ones
OWN_BODY = "the body of the op"
Slices = NDArray[np.int64]  # per element of an operand, in row-major order, the slice that it is in


# The ways to combine partial results that are tried, by name.
COMBINATIONS: dict[str, type[Operation]] = {
    "sum": AddOp,
    "product": MultiplyOp,
    "max": MaximumOp,
    "min": MinimumOp,
    "and": AndOp,
    "or": OrOp,
}


@np.errstate(all="ignore")
def combination_of(op: OneOp, slices: Mapping[int, Slices], count: int) -> str | None:
    """Return how partial results combine to the results of the op; None if no way was found.

    `slices` are those of the operands that are split into `count` slices. Run `i` of the op has slice `i` of these, and
    elements that change nothing in place of the others. An operand that is not split may be whole in one run only, as
    the operand that a scatter adds to. Partial results of ops other than `reduce` and `scatter` are always added.
    Raises: SdyError if the op cannot be run.
    """
    random = np.random.default_rng(0)
    rounds = [op.drawn(random, round_) for round_ in range(ROUNDS)]
    has_body = isinstance(op.op, ReduceOp | ScatterOp)
    for name, combiner in COMBINATIONS.items() if has_body else [("sum", AddOp)]:
        if not all(_applies(combiner, dtype_of_type(result.type)) for result in op.op.results):
            continue
        others = [operand for operand in op.inputs if operand not in slices]
        for once in chain.from_iterable(combinations(others, size) for size in range(len(others) + 1)):
            if all(_combines(op, inputs, slices, count, combiner, once) for inputs in rounds):
                return name
    if isinstance(op.op, ReduceOp) and all(_combines_by_body(op, inputs, slices, count) for inputs in rounds):
        return OWN_BODY
    return None


def _combines(
    op: OneOp,
    inputs: Sequence[Array],
    slices: Mapping[int, Slices],
    count: int,
    combiner: type[Operation],
    once: tuple[int, ...],
) -> bool:
    operands: list[Array] = []
    for operand, array in zip(op.inputs, inputs, strict=True):
        if operand not in slices and operand not in once:
            operands.append(array[None])
            continue
        dtype = op.dtypes[operand]
        if not _applies(combiner, dtype):
            return False
        own = slices.get(operand, np.zeros(array.size, np.int64))
        outside = own[None, :] != np.arange(count)[:, None]
        neutral = op.filled(np.array(identity_element(combiner, element_type_of(op.op.operands[operand]))), dtype)
        operands.append(np.where(outside, neutral, array.reshape(1, -1)).reshape(count, *array.shape))
    whole = op(2, [array[None] for array in inputs])
    return all(
        op.are_equal(op.fold(combiner, runs.dtype).reduced(runs, (0,)), expected[0])
        for runs, expected in zip(op(count, operands), whole, strict=True)
    )


def _combines_by_body(op: OneOp, inputs: Sequence[Array], slices: Mapping[int, Slices], count: int) -> bool:
    """Return whether a reduction of its partial results gives its result, if the initial values change nothing."""
    assert isinstance(op.op, ReduceOp)
    reduced = op.op.dimensions.get_values()
    arrays = dict(zip(op.inputs, inputs, strict=True))
    data = [operand for operand in range(len(op.op.inputs)) if operand in slices]
    if len(data) < len(op.op.inputs):
        return False
    initial = [arrays.get(len(data) + operand, op.constant(len(data) + operand)) for operand in data]
    outside = [slices[operand][None, :] != np.arange(count)[:, None] for operand in data]
    partial = op(
        count,
        [
            np.where(outside[operand], initial[operand], array.reshape(1, -1)).reshape(count, *array.shape)
            if operand in data
            else array[None]
            for operand, array in arrays.items()
        ],
    )
    combined: list[Array] = []
    for operand, runs in zip(data, partial, strict=True):
        filled = np.full(op.shapes[operand], initial[operand])
        first = np.moveaxis(filled, reduced, range(len(reduced)))  # a view: the reduced dims, then those of the result
        position = np.moveaxis(slices[operand].reshape(filled.shape), reduced, range(len(reduced)))
        for number, run in enumerate(runs):
            place = np.argwhere(position == number)[0][: len(reduced)]
            first[tuple(place)] = run
        combined.append(filled)
    again = op(2, [combined[operand][None] if operand in data else array[None] for operand, array in arrays.items()])
    whole = op(2, [array[None] for array in inputs])
    return all(op.are_equal(found[0], expected[0]) for found, expected in zip(again, whole, strict=True))


def _applies(combiner: type[Operation], dtype: DType) -> bool:
    if combiner in (AndOp, OrOp):
        return not is_float(dtype) and not is_complex(dtype)
    if combiner in (MaximumOp, MinimumOp):
        return not is_complex(dtype)
    return not is_bool(dtype)
