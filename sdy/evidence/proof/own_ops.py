"""The lemma of ops of a user's own dialect: equal operands give equal results, or equal elements equal elements."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from sdy.dialects.facts.traits import is_elementwise
from sdy.evidence.proof.factors import attributes_of, batched, elementwise
from sdy.evidence.proof.relations import NotProvedError, Relation
from sdy.evidence.proof.structured import compute, known_operands
from sdy.evidence.proof.walk import Lemma, Walk

KNOWN_DIALECTS = frozenset({"builtin", "chlo", "func", "sdy", "stablehlo"})


def lemma_of_own_op(op: Operation) -> Lemma | None:
    """Return the lemma of an op of a dialect that the proof does not know; None for other ops."""
    return None if op.dialect_name() in KNOWN_DIALECTS else _own_op


def _own_op(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an op without effects is a function of its operands and attributes; an elementwise one of elements.

    Its sharding rule is not trusted: other dims than those of an elementwise op must be whole.
    """
    if op.regions or not is_side_effect_free(op):
        raise NotProvedError(f"the proof only supports ops like {op.name} that have no regions and the trait `Pure`")
    others = sorted((name, each) for name, each in op.attributes.items() if not name.startswith(("sdy.", "mhlo.")))
    attributes = (attributes_of(op), tuple(others))
    known = known_operands(operands)
    if is_elementwise(op):
        return compute(walk, op, replace(elementwise(op), attributes=attributes), known, is_elementwise=True)
    return compute(walk, op, batched(op, (), attributes), known)
