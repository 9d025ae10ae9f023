"""Padding rules of ops that combine elements: padding must be the identity element of the combiner.

Source: docs/spec/06, 8.2 (G41).
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.dialects.constants.elements import Scalar
from sdy.dialects.facts.traits import are_combiners, combiners_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import reduction
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.sharded_emitter import is_zero_constant
from sdy.partitioner.on_shards.combiners import constant_scalar, identity_element
from sdy.partitioner.on_shards.selecting_bodies import ignores_trailing_inits
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()


@RULES.of(reduction.ReduceOp)
def reduce(op: reduction.ReduceOp, padder: Padder) -> None:
    """Mask the reduced dims with the identity element of the body."""
    dims = ints_of(op.dimensions)
    padded = [value for value in op.inputs if set(dims).intersection(padder.facts.padded_dims(value))]
    neutral = _neutral_elements(op) if padded else ()
    if neutral is None:
        compute_unpadded(op, padder)
        return
    emit = padder.emitter(op)
    for index, element in enumerate(neutral):
        op.operands[index] = padder.masked_with(emit, op.operands[index], element, dims)
    padder.resize_to_targets(op.results)


def _neutral_elements(op: reduction.ReduceOp) -> Sequence[Scalar] | None:
    """Return, for each input, an element that can follow its elements without changing the result, or None."""
    combiners = combiners_of(op.body.block)
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
