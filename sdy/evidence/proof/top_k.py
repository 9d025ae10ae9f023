"""Lemmas of `top_k` along a sharded dim: each shard has its candidates, of which a second `top_k` selects the result.

The indices in a shard become those in the unsharded dim when the offset of the shard is added. The second `top_k` tells
the positions of the candidates whose indices are taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.evidence.proof.factors import ints
from sdy.evidence.proof.indexing.elements import gather_elements
from sdy.evidence.proof.indexing.slices import gather_one_slice
from sdy.evidence.proof.known import ints_of
from sdy.evidence.proof.offsets import offset, plus
from sdy.evidence.proof.relations import SELECTION, Candidates, Known, NotProvedError, Positions, Relation, View
from sdy.evidence.proof.selections.candidates import are_selected_by, candidates_of, combined_candidates
from sdy.evidence.proof.structured import compute, known_operands, row_factors
from sdy.evidence.proof.terms import Arguments
from sdy.evidence.proof.walk import Walk, shape_of


def top_k(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the k largest elements of all shards are the k largest of the k largest ones of each shard."""
    factors, last = row_factors(walk, op), len(shape_of(op.operands[0])) - 1
    (operand,) = operands
    if isinstance(operand, Candidates):
        if operand.dim != last or operand.shift or not are_selected_by(op.name, factors.attributes, [operand]):
            raise NotProvedError("expected candidates of the same top_k")
        view = combined_candidates(operand)
        if view.partial is not None:
            raise NotProvedError("expected candidates of all shards")
        return [view, Positions(operand)]
    factors = replace(factors, reduced=frozenset({factors.operands[0][last]}), kind=SELECTION)
    found = compute(walk, op, factors, known_operands(operands))
    values, indices = (candidates_of(each, last) for each in found if isinstance(each, View))
    if values is None or indices is None:
        return found
    extent = shape_of(op.operands[0])[last]
    starts = offset(tuple(extent * (bits.bit_length() - 1) for (bits,) in indices.sets))
    return [values, replace(indices, shift=plus(0, starts, -1))]


def shifted(walk: Walk, candidates: Candidates, value: Relation) -> Candidates:
    """Lemma: indices in a shard, plus its offset, are indices in the unsharded dim."""
    is_integer = isinstance(value, Known) and np.issubdtype(value.rows.dtype, np.integer)
    number = ints_of(value, walk.devices) if isinstance(value, Known) and is_integer else None
    if number is None:
        raise NotProvedError("expected a known integer per device that is added to indices")
    return replace(candidates, shift=plus(candidates.shift, number))


def gather(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the indices at the positions of those candidates that are the largest ones are the indices of these."""
    values, positions = operands
    if not isinstance(values, Candidates) or not isinstance(positions, Positions):
        return gather_one_slice(walk, op, operands) or gather_elements(walk, op, operands)
    candidates = positions.candidates
    term = candidates.view.term
    is_of_same = are_selected_by(term.op, cast("Arguments", term.attributes).own, [candidates, values])
    if values.shift or not is_of_same or not _takes_along(op, values.dim):
        raise NotProvedError("expected indices of candidates along the dim of these")
    return [values.view]


def _takes_along(op: Operation, last: int) -> bool:
    """Return whether a gather takes single elements along the last dim, at indices in the same row."""
    assert isinstance(op, GatherOp)
    numbers, batch = op.dimension_numbers.data, tuple(range(last))
    return (
        tuple(numbers.offset_dims) == ()
        and tuple(numbers.collapsed_slice_dims) == tuple(numbers.start_index_map) == (last,)
        and tuple(numbers.operand_batching_dims) == tuple(numbers.start_indices_batching_dims) == batch
        and numbers.index_vector_dim == len(shape_of(op.operands[1])) == last + 1
        and set(ints(op, "slice_sizes")) == {1}
    )
