"""Lemmas of gathers and scatters."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.evidence.proof.factors import gather, scatter, slice_factors
from sdy.evidence.proof.known import ints_of
from sdy.evidence.proof.offsets import clamped
from sdy.evidence.proof.relations import Known, Relation
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, shape_of


def gather_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: slices that are whole along a dim, and batches of indices, are gathered on their shards."""
    assert isinstance(op, GatherOp)
    return compute(walk, op, gather(op), known_operands(operands))


def scatter_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: updates that are whole along a dim are scattered on its shards."""
    assert isinstance(op, ScatterOp)
    body, kind = walk.fingerprint(op.regions[0])
    known = known_operands(operands)
    return compute(walk, op, scatter(op, kind, body), known)


def slice_by_index(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice whose start is known on each device is a window; other starts are those of the global slice."""
    value, *starts = known_operands(operands)
    shape = shape_of(op.results[0])
    tables = [ints_of(each, walk.devices) if isinstance(each, Known) else None for each in starts]
    for dim, (size, table) in enumerate(zip(shape, tables, strict=True)):
        last = value.shape[dim] - size
        if last and table is not None:
            value = slice_along(value, dim, clamped(table, last), size)
    if value.shape == shape:
        return [value]
    factors, sliced = slice_factors(value.shape, shape)
    return compute(walk, op, factors, [value, *(starts[dim] for dim in sliced)])
