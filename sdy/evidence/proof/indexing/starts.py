"""Starts of updates that are known to be 0, from the term of the indices."""

from __future__ import annotations

from typing import cast

import numpy as np

from sdy.dialects.stablehlo.attributes.attrs import ScatterDimensionNumbers
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.evidence.proof.factors import windows_of_updates
from sdy.evidence.proof.known import DTYPES, Rows
from sdy.evidence.proof.relations import FREE, View, dim_of, extents, is_plain
from sdy.evidence.proof.terms import Arguments, Term


def dims_from_zero(op: ScatterOp, numbers: ScatterDimensionNumbers, indices: View) -> frozenset[int]:
    """Return the indexed dims that updates cover from start 0, or with starts so far away that they write nothing.

    Along them, each element of an update has the position of its element of the input, on shards too.
    """
    inputs, updates = shape_of(op.inputs[0]), shape_of(op.updates[0])
    if not is_plain(indices) or indices.partial is not None:
        return frozenset()
    has_vectors = numbers.index_vector_dim < len(indices.dims)
    along = dim_of(indices.dims[numbers.index_vector_dim]) if has_vectors else FREE
    if along != FREE and (indices.base[along], extents(indices)[along]) != (0, indices.term.shape[along]):
        return frozenset()
    windows = windows_of_updates(op)
    return frozenset(
        dim
        for component, dim in enumerate(numbers.scatter_dims_to_operand_dims)
        if dim in windows
        and updates[windows[dim]] == inputs[dim]
        and _is_zero_or_far(indices.term, along, component, inputs[dim])
    )


def _is_zero_or_far(term: Term, dim: int, position: int, size: int) -> bool:
    """Return whether the elements at a position along `dim`, or all for FREE, are 0 or at least `size` away from it."""
    if term.op == "constant":
        found = _elements(term, dim, position)
        return found is not None and all(each == 0 or abs(int(each)) >= size for each in found.flat)
    if term.op not in ("stablehlo.clamp", "stablehlo.select", "stablehlo.concatenate"):
        return False
    dims = [_dim_of_operand(term, number, dim) for number in range(len(term.operands))]
    operands = list(zip(term.operands, dims, strict=True))
    if term.op == "stablehlo.clamp":  # whatever is clamped between zeros is 0
        bounds = [_elements(each, along, position) for each, along in (operands[0], operands[2])]
        return all(each is not None and not each.any() for each in bounds)
    if term.op == "stablehlo.select":
        operands = operands[1:]
    elif dim != FREE and set(dims) == {FREE}:  # the dim along which operands are concatenated
        return _is_part_zero_or_far(term, position, size)
    return all(_is_zero_or_far(each, along, position, size) for each, along in operands)


def _is_part_zero_or_far(term: Term, position: int, size: int) -> bool:
    """Return whether the operand of a concatenation that has a position along the joined dim is 0 or far from it."""
    attributes = term.attributes
    assert isinstance(attributes, Arguments)
    sizes = cast(tuple[int, tuple[int, ...]], attributes.own)[1]
    number = int(np.searchsorted(np.cumsum(sizes), position, side="right"))
    return _is_zero_or_far(term.operands[number], FREE, 0, size)


def _dim_of_operand(term: Term, number: int, dim: int) -> int:
    """Return the dim of an operand's term that has the factor of a dim of the term; FREE for none."""
    attributes = term.attributes
    assert isinstance(attributes, Arguments)
    if dim == FREE:
        return FREE
    named = attributes.result_factors[dim]
    factor = named if named >= 0 else -1 - named
    return next((at for at, each, size in attributes.factors[number] if each == factor and not size), FREE)


def _elements(term: Term, dim: int, position: int) -> Rows | None:
    """Return the elements of a constant at a position along `dim`, all elements for FREE; None if they are unknown."""
    if term.op != "constant" or term.element not in DTYPES:
        return None
    assert isinstance(term.attributes, bytes)
    found = np.frombuffer(term.attributes, DTYPES[term.element]).reshape(term.shape)
    return found if dim == FREE else np.take(found, [position], dim)
