"""Lower the ops of CHLO, which frameworks emit, to ops of StableHLO.

    before  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
    after   %0 = stablehlo.multiply %x, %x : tensor<4xf32>

The op that computes the result gets the sharding. Ensures: no CHLO op is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.passes.chlo.expansions import EXPANSIONS, operands_in_one_shape
from sdy.passes.chlo.formulas import COMPLEX, EXACT, REAL, Formula
from sdy.passes.chlo.traced import Recorder, Traced
from sdy.passes.rewriting.insertion import replace_by
from sdy.passes.rewriting.op_order import op_order

WIDE_COMPLEX = ComplexType(f64)


class ChloLegalizeToStablehloPass(ModulePass):
    """Replace every op of CHLO by ops of StableHLO."""

    name = "chlo-legalize-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace all CHLO ops. Raises: SdyError SDY-T116 at the first op without an expansion."""
        targets = frozenset(CHLO.operations)
        for inner in [inner for inner in op_order(op).ops if type(inner) in targets]:
            _replace(inner)


def _replace(op: Operation) -> None:
    if any(static_shape(value.type) is None for value in (*op.operands, *op.results)):
        raise _error(op, "its tensors must have static shapes")
    results = _expanded(op)
    last = results[0].owner
    if isinstance(last, Operation):
        last.attributes.update(op.attributes)
    replace_by(op, *results)


def _expanded(op: Operation) -> Sequence[SSAValue]:
    operands = operands_in_one_shape(op)
    element = element_type_of(op.operands[0]) if op.operands else f64
    is_complex = isinstance(element, ComplexType)
    if type(op) in EXACT:
        return [_traced(op, EXACT[type(op)], operands, element)]
    wide = WIDE_COMPLEX if is_complex else f64
    formula = (COMPLEX if is_complex else REAL).get(type(op))
    if formula is not None:
        return [_traced(op, formula, operands, wide)]
    expanded = EXPANSIONS.get(op, Recorder(op, element), operands)
    if expanded is None:
        raise _error(op, "no expansion is known")
    return expanded


def _traced(op: Operation, formula: Formula, operands: Sequence[SSAValue], element: Attribute) -> SSAValue:
    recorder = Recorder(op, element)
    result = cast("Traced", formula(*(recorder.traced(operand, element) for operand in operands)))
    return recorder.traced(result.value, element_type_of(op.results[0])).value


def _error(op: Operation, why: str) -> SdyError:
    hint = "the interpreter runs it directly; other tools need support for CHLO"
    return SdyError(Diagnostic("SDY-T116", f"cannot lower {op.name} to StableHLO: {why}", span_of(op), hint=hint))
