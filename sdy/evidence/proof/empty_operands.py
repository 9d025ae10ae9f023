"""Lemmas of ops with operands that have no elements: what the op computes without them."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.evidence.proof.known import moved
from sdy.evidence.proof.lemmas import concatenate
from sdy.evidence.proof.relations import Known, NotProvedError, Relation
from sdy.evidence.proof.terms import Shape
from sdy.evidence.proof.views import broadcast
from sdy.evidence.proof.walk import Lemma, Walk, known_or_view, shape_of


def padding(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: all elements of a padded value without elements are the padding value."""
    return [_repeated(operands[1], shape_of(op.results[0]))]


def initial_values(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reduction of no elements returns its initial values."""
    results = op.results
    return [_repeated(operands[len(results) + number], shape_of(each)) for number, each in enumerate(results)]


def not_updated(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: updates without elements change nothing."""
    return operands[: len(op.results)]


def _repeated(relation: Relation, shape: Shape) -> Relation:
    """Return the relation of a value all of whose elements are a scalar. Raises: NotProvedError if it has none."""
    if 0 in shape:
        raise NotProvedError("a value without elements")
    scalar = known_or_view(relation)
    return moved(scalar, shape, None) if isinstance(scalar, Known) else broadcast(scalar, shape, ())


LEMMAS_OF_EMPTY_OPERANDS: dict[str, Lemma] = {
    "stablehlo.concatenate": concatenate,
    "stablehlo.dynamic_update_slice": not_updated,
    "stablehlo.pad": padding,
    "stablehlo.reduce": initial_values,
    "stablehlo.scatter": not_updated,
}
