"""Turn reductions of values of several meshes into `mpmd.reduce`. Source: docs/spec/07, 5.15.

before  %c = add %a, %b   %d = add %c, %e     where %a, %b and %e are on different meshes
after   %d = mpmd.reduce<add> %a, %b, %e
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.stablehlo.reduction import ReduceOp as StablehloReduceOp
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.mpmd.dialect.attrs import Reduction, ReductionAttr
from sdy.mpmd.dialect.ops import ReduceOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.import_.populate_sets import REDUCE
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, any_function
from sdy.mpmd.passes.tools.mesh_sets import SRC_SET
from sdy.mpmd.passes.tools.meshless import (
    binary_kind,
    is_meshless,
    kind_of_reduce,
    reduce_of_concatenate,
)
from sdy.passes.rewriting.insertion import erase, insert_before, replace_op


@dataclass(frozen=True)
class ConvertReduceOpsPass(FunctionPass):
    """Convert the ops that can be reductions over meshes, if a reduction of the user or the option asks for it."""

    name = "mpmd-infer-mesh-convert-reduce-ops"
    ON = any_function

    infer_cross_mesh_reductions: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Convert the ops in order, so that a chain becomes one reduction."""
        asked = _asked_for(func)
        for op in pre_order(func, FragmentOp):
            mark = op.attributes.get(REDUCE)
            if (
                isinstance(mark, ReductionAttr)
                and is_meshless(op)
                and (self.infer_cross_mesh_reductions or op in asked)
            ):
                _convert(op, mark.data)


def _asked_for(func: FuncOp) -> set[Operation]:
    """Return the ops whose result the user declared to be a reduction, through ops with one operand."""
    asked: set[Operation] = set()
    for reduce in ops_of(func, ReduceOp):
        if reduce.reduction.data is not Reduction.NONE:
            continue
        source = reduce.tensors[0].owner
        while isinstance(source, Operation) and len(source.operands) == 1 and len(source.results) == 1:
            following = source.operands[0].owner
            if not isinstance(following, Operation):
                break
            source = following
        if isinstance(source, Operation):
            _mark(source, asked)
    return asked


def _mark(op: Operation, asked: set[Operation]) -> None:
    kind = binary_kind(op)
    if kind is not None:
        asked.add(op)
        for operand in op.operands:
            if isinstance(operand.owner, Operation) and binary_kind(operand.owner) is kind:
                _mark(operand.owner, asked)
    elif isinstance(op, StablehloReduceOp):
        source = op.inputs[0].owner
        if isinstance(source, ConcatenateOp) and reduce_of_concatenate(source) is op and kind_of_reduce(op):
            asked.add(op)


def _convert(op: Operation, kind: Reduction) -> None:
    if isinstance(op, ConcatenateOp):
        return  # it is converted with its reduction
    inner: set[Operation] = set()
    values: list[SSAValue] = []
    if isinstance(op, StablehloReduceOp):
        concatenate = op.inputs[0].owner
        assert isinstance(concatenate, ConcatenateOp)  # which was marked with it
        values = [_reshaped(operand, op) for operand in concatenate.inputs]
        inner.add(concatenate)
    else:
        for operand in op.operands:
            source = operand.owner
            if isinstance(source, ReduceOp) and source.reduction.data is kind:
                values += source.tensors
                inner.add(source)
            else:
                values.append(operand)
    reduce = ReduceOp(kind, values)
    if SRC_SET in op.attributes:
        reduce.attributes[SRC_SET] = op.attributes[SRC_SET]
    replace_op(op, reduce)
    for each in inner:
        if each.results[0].first_use is None:
            erase(each)


def _reshaped(value: SSAValue, op: StablehloReduceOp) -> SSAValue:
    """Return an operand of a concatenation with the shape of the result of its reduction."""
    attributes = value.owner.attributes if isinstance(value.owner, Operation) else {}
    reshape = ReshapeOp.create(operands=[value], result_types=[op.results[0].type], attributes=attributes)
    return insert_before(op, reshape).result
