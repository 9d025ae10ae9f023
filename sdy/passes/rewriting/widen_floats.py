"""Give all floats of a program 64 bits, so that rounding hardly changes its results.

    before  %0 = stablehlo.add %a, %b : tensor<4xbf16>
    after   %0 = stablehlo.add %a, %b : tensor<4xf64>

Ops that depend on the format of their elements (`bitcast_convert`, and custom calls other than those of LAPACK) keep
their types: operands are converted before, and results after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FunctionType,
    ModuleOp,
    TensorType,
    TupleType,
    f64,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import operands_of, replace_uses, set_operand, set_type
from sdy.dialects.ir.walk import blocks_of, pre_order
from sdy.dialects.stablehlo.attributes.token_types import FutureType, TokenType
from sdy.dialects.stablehlo.calls import CustomCallOp, is_lapack_call
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.elementwise import ConvertOp, ReducePrecisionOp
from sdy.dialects.stablehlo.shape import BitcastConvertOp
from sdy.passes.rewriting.insertion import erase, insert, insert_before, redirect_other_uses


def widen_floats(module: ModuleOp) -> None:
    """Give all float and complex values and constants of a module parts of 64 bits, in place.

    Ops that only round (`reduce_precision`), print, or compare values with expected ones are removed.
    """
    ops = pre_order(module)
    for op in ops:
        if isinstance(op, ReducePrecisionOp):
            replace_uses(op.output, op.operand)
            erase(op)
        elif op.name.startswith("check.") or (isinstance(op, CustomCallOp) and _only_prints(op)):
            _skip(op)
    kept = {op: _types(op) for op in ops if op.parent is not None and _depends_on_format(op)}
    widened = cache(_widened)  # programs repeat their types and constants
    for op in ops:
        for value in _defined_values(op):
            set_type(value, widened(value.type))
        if op not in kept:
            _widen_attributes(op, widened)
    for op, (operand_types, result_types) in kept.items():
        _convert_around(op, operand_types, result_types)


def widened_type(value_type: Attribute) -> Attribute:
    """Return the type with elements of 64 bits for each float: `tensor<4xbf16>` becomes `tensor<4xf64>`."""
    if isinstance(value_type, AnyFloat):
        return f64
    if isinstance(value_type, ComplexType):
        return ComplexType(f64)
    if isinstance(value_type, TensorType):
        tensor = cast("TensorType[Attribute]", value_type)
        return TensorType[Attribute](widened_type(tensor.element_type), tensor.get_shape(), tensor.encoding)
    if isinstance(value_type, TupleType):
        elements = cast("ArrayAttr[TypeAttribute]", ArrayAttr(list(map(widened_type, value_type.types))))
        return TupleType(elements)
    if isinstance(value_type, FutureType):
        return FutureType(ArrayAttr(list(map(widened_type, value_type.types))))
    if isinstance(value_type, FunctionType):
        inputs, outputs = (map(widened_type, types) for types in (value_type.inputs, value_type.outputs))
        return FunctionType.from_lists(list(inputs), list(outputs))
    return value_type


def _depends_on_format(op: Operation) -> bool:
    if isinstance(op, CustomCallOp):
        return not is_lapack_call(op)
    return isinstance(op, BitcastConvertOp)


def _types(op: Operation) -> tuple[list[Attribute], list[Attribute]]:
    return [operand.type for operand in operands_of(op)], [result.type for result in op.results]


def _defined_values(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for block in blocks_of(op):
        yield from block.args


def _only_prints(op: CustomCallOp) -> bool:
    """Return whether the call has no results but tokens: the function that it calls on the host computes nothing."""
    return all(isinstance(result.type, TokenType) for result in op.results)


def _skip(op: Operation) -> None:
    """Remove an op without results but tokens, which are replaced by the tokens among its operands."""
    tokens = [operand for operand in operands_of(op) if isinstance(operand.type, TokenType)]
    if len(tokens) < len(op.results):
        return
    for result, token in zip(op.results, tokens, strict=False):
        replace_uses(result, token)
    erase(op)


def _widened(attribute: Attribute) -> Attribute:
    return _widened_constant(attribute) if isinstance(attribute, DenseElementsAttr) else widened_type(attribute)


def _widen_attributes(op: Operation, widened: Callable[[Attribute], Attribute]) -> None:
    """Widen constants and function types. An algorithm, which says how a product is rounded, is removed."""
    if isinstance(op, DotGeneralOp):
        op.algorithm = None
    for attributes in (op.properties, op.attributes):
        for name, attribute in attributes.items():
            if isinstance(attribute, FunctionType | DenseElementsAttr):
                attributes[name] = widened(attribute)


def _widened_constant(constant: DenseElementsAttr) -> DenseElementsAttr:
    tensor = cast("TensorType[Attribute]", widened_type(constant.type))
    if tensor == constant.type:
        return constant
    values = constant.get_values()
    return DenseElementsAttr.from_values(tensor, values[:1] if constant.is_splat else values)


def _is_tensor(value_type: Attribute) -> bool:
    return isinstance(value_type, TensorType)


def _convert_around(op: Operation, operand_types: list[Attribute], result_types: list[Attribute]) -> None:
    """Restore the types of an op: convert its operands before, and its results after."""
    for index, (operand, kept) in enumerate(zip(operands_of(op), operand_types, strict=True)):
        if operand.type != kept and _is_tensor(kept):
            conversion = ConvertOp.create(operands=[operand], result_types=[kept])
            insert_before(op, conversion)
            set_operand(op, index, conversion.result)
    for result, kept in zip(op.results, result_types, strict=True):
        if result.type != kept and _is_tensor(kept):
            conversion = ConvertOp.create(operands=[result], result_types=[result.type])
            set_type(result, kept)
            insert(conversion, InsertPoint.after(op), op.location)
            redirect_other_uses(result, conversion.result)
