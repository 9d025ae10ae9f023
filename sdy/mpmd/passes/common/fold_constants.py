"""Fold constants and identities of StableHLO, as far as programs of several meshes need it. Source: docs/spec/08, 2.9.

before  %0 = constant 0.0   %1 = select %false, %a, %0   %2 = add %b, %1
after   %b in place of %2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import is_elementwise
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import MAIN
from sdy.dialects.stablehlo.elementwise import AddOp, MultiplyOp, SelectOp
from sdy.dialects.stablehlo.reduction import COMMUTATIVE
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp, TransposeOp
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, any_function
from sdy.mpmd.passes.tools.rewriting import rewrite_greedily
from sdy.mpmd.passes.tools.uses import is_pure, users_of
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.passes.rewriting.insertion import erase


@dataclass(frozen=True)
class TargetIndependentOptimizationPass(FunctionPass):
    """Fold ops on constants whose elements are all equal, `x + 0`, `x * 1`, and `select` with a constant predicate.

    StableHLO also folds other constants, up to `fold-op-element-limit` elements; here they stay, whatever the limit.
    """

    name = "stablehlo-target-independent-optimization"
    ON = any_function

    fold_op_element_limit: int = 65536

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Fold until nothing changes, and erase what is not used."""
        rewrite_greedily(func, (_fold,), merges_constants=True, simplifies_regions=True)


def _fold(op: Operation) -> list[Operation] | None:
    if isinstance(op, SelectOp):
        predicate = _splat(op.pred)
        if predicate is not None:
            return _replace(op, op.on_true if predicate.first_value else op.on_false)
    if isinstance(op, AddOp | MultiplyOp):
        unit = 0 if isinstance(op, AddOp) else 1
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            constant = _splat(other)
            if constant is not None and constant.first_value == unit:
                return _replace(op, value)
    if op.name in COMMUTATIVE and _is_constant(op.operands[0]) and not _is_constant(op.operands[1]):
        op.operands = [op.operands[1], op.operands[0]]
        return [op]
    if len(op.results) != 1 or not op.operands or not is_pure(op):
        return None
    operands = [_splat(operand) for operand in op.operands]
    constants = [each for each in operands if each is not None]
    if len(constants) < len(operands) or not isinstance(op.results[0].type, TensorType):
        return None
    if isinstance(op, BroadcastInDimOp | ReshapeOp | TransposeOp):
        return _replace_by_splat(op, constants[0])
    return _replace_by_splat(op, _evaluated(op, constants)) if is_elementwise(op) else None


def _splat(value: SSAValue) -> DenseElementsAttr | None:
    """Return the elements of a constant if they are all equal."""
    owner = value.owner
    found = owner.value if isinstance(owner, ConstantOp) else None
    return found if isinstance(found, DenseElementsAttr) and found.is_splat and found.data.count else None


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp)


def _replace(op: Operation, value: SSAValue) -> list[Operation]:
    users, sources = users_of(op.results[0]), [operand.owner for operand in op.operands]
    replace_uses(op.results[0], value)
    erase(op)
    return [*users, *(source for source in sources if isinstance(source, Operation))]


def _replace_by_splat(op: Operation, splat: DenseElementsAttr) -> list[Operation]:
    result_type = cast("TensorType[Attribute]", op.results[0].type)
    start = None if op.parent is None else op.parent.first_op
    assert start is not None  # the op is in the body of a function
    emit = Emitter(start, Style(), op.location)  # as MLIR does
    return _replace(op, emit.constant(result_type, [splat.first_value]))


def _evaluated(op: Operation, operands: Sequence[DenseElementsAttr]) -> DenseElementsAttr:
    """Return the element that an elementwise op computes from constants, as a scalar."""
    from sdy.interpreter.arrays.literals import array_of, attribute_of  # NumPy is imported where a program needs it
    from sdy.interpreter.run import interpret

    def scalar(value: SSAValue) -> TensorType[Attribute]:
        return TensorType(cast("TensorType[Attribute]", value.type).element_type, [])

    result, types = scalar(op.results[0]), list(map(scalar, op.operands))
    block = Block(arg_types=types)
    computed = type(op).create(operands=block.args, result_types=[result], properties=op.properties)
    block.add_ops([computed, ReturnOp(*computed.results)])
    module = ModuleOp([FuncOp(MAIN, FunctionType.from_lists(types, [result]), Region(block))])
    values = [[each.first_value] for each in operands]
    elements = (DenseElementsAttr.from_values(*each) for each in zip(types, values, strict=True))
    return attribute_of(interpret(module, [array_of(each.data) for each in elements])[0], result)
