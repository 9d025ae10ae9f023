"""Unroll loops fully, and number the ops of each iteration. Source: docs/spec/07, 6.6.

before  %r = mpmd.for (%a) {iterations = 2, unroll_factor = 2} (%x, %index) { %1 = mpmd.call @f(%x, %index) ... }
after   %c0 = constant 0   %1 = mpmd.call @f(%a, %c0) {unroll_counter = 0}   %c1 = constant 1   ...
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.walk import post_order
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.mpmd.dialect.ops import ui32
from sdy.mpmd.dialect.regions import ForOp
from sdy.mpmd.passes.common.inline_calls import UNROLL_COUNTER
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.passes.rewriting.insertion import erase, insert_before


class UnrollForLoopsPass(FunctionPass):
    """Replace each loop by copies of its body. Loops inside of loops are not supported."""

    name = "mpmd-unroll-for-loops"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Unroll the loops of a function, whose iterations are numbered together."""
        counter = 0
        for loop in [op for op in post_order(func) if isinstance(op, ForOp)]:
            if isinstance(loop.parent_op(), ForOp):
                findings.error(loop, "SDY-M101", "a loop must not be inside of another loop")
                findings.raise_errors()
            count = loop.iterations.value.data
            if loop.unroll_factor != loop.iterations:
                factor = "none" if loop.unroll_factor is None else loop.unroll_factor.value.data
                message = f"only full unrolling is supported: unroll_factor must be {count}, got {factor}"
                findings.error(loop, "SDY-M101", message)
                findings.raise_errors()
            _unroll(loop, count, counter)
            counter += count


def _unroll(loop: ForOp, count: int, first_counter: int) -> None:
    *body, end = loop.body.block.ops
    *arguments, index = loop.body.block.args
    carried: list[SSAValue] = list(loop.operands)
    scalar = TensorType(ui32, [])
    for iteration in range(count):
        counter = IntegerAttr(first_counter + iteration, ui32)
        constant = ConstantOp.create(
            result_types=[scalar],
            properties={"value": DenseElementsAttr.from_values(scalar, [iteration])},
            attributes={UNROLL_COUNTER: counter},
        )
        insert_before(loop, constant)
        values: dict[SSAValue, SSAValue] = {index: constant.results[0]}
        values |= dict(zip(arguments, carried, strict=True))
        for op in body:
            copy = copy_with_regions(op, values)
            copy.attributes[UNROLL_COUNTER] = counter
            insert_before(loop, copy)
        carried = [values.get(value, value) for value in end.operands]
    assert end is terminator_of(loop.body)
    for result, value in zip(loop.results, carried, strict=True):
        replace_uses(result, value)
    erase(loop)
