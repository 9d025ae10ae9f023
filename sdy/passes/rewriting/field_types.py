"""Replace the floats of a program by numbers of a finite field, in which sums and products are exact in any order.

    before  %0 = stablehlo.add %a, %b : tensor<4xbf16>
    after   %0 = stablehlo.add %a, %b : tensor<4x!sdy.field>

Constants stay as they are written: their op converts them. Ops that depend on the format of their elements
(`bitcast_convert`, those of quantized elements, and custom calls with a kernel, but for LAPACK) keep their types:
operands are converted before, and results after.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, ComplexType, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import Contraction, has_fact
from sdy.dialects.ir.fast_ops import copy_with_regions, operands_of, set_operand, set_type
from sdy.dialects.ir.walk import blocks_of, pre_order
from sdy.dialects.stablehlo.attributes.types import FutureType, TokenType
from sdy.dialects.stablehlo.calls import IDENTITY_CALLS, CustomCallOp, is_lapack_call
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import BitcastConvertOp
from sdy.interpreter.arrays.field_types import field_type
from sdy.interpreter.ops.custom_calls import is_opaque
from sdy.interpreter.quantized import has_quantized
from sdy.passes.rewriting.insertion import insert, insert_before, redirect_other_uses, replace_by

# Dialects whose ops have forms for numbers of a field. The kernels of users' ops compute floats.
_KNOWN = frozenset({"builtin", "chlo", "func", "interpreter", "sdy", "stablehlo"})


def with_field_types(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module whose float and complex values are numbers of a finite field.

    Ops that print, or compare values with expected ones, are removed.
    """
    copy = copy_with_regions(module)
    ops = pre_order(copy)
    for op in ops:
        if op.name.startswith("check.") or (isinstance(op, CustomCallOp) and _only_prints(op)):
            _skip(op)
    kept = {op: _types(op) for op in ops if op.parent is not None and _depends_on_format(op)}
    replaced = cache(_replaced)  # programs repeat their types
    for op in ops:
        for value in _defined_values(op):
            set_type(value, replaced(value.type))
        if isinstance(op, FuncOp):
            op.function_type = cast("FunctionType", replaced(op.function_type))
    for op, (operand_types, result_types) in kept.items():
        _convert_around(op, operand_types, result_types)
    return copy


def _replaced(value_type: Attribute) -> Attribute:
    """Return the type with elements of the field for floats: `tensor<4xbf16>` becomes `tensor<4x!sdy.field>`."""
    if isinstance(value_type, TensorType):
        tensor = cast("TensorType[Attribute]", value_type)
        element = tensor.element_type
        if not isinstance(element, AnyFloat) and not is_complex(element):
            return tensor
        return TensorType[Attribute](field_type(element), tensor.get_shape(), tensor.encoding)
    if isinstance(value_type, TupleType):
        elements = cast("ArrayAttr[TypeAttribute]", ArrayAttr(list(map(_replaced, value_type.types))))
        return TupleType(elements)
    if isinstance(value_type, FutureType):
        return FutureType(ArrayAttr(list(map(_replaced, value_type.types))))
    if isinstance(value_type, FunctionType):
        inputs, outputs = (map(_replaced, types) for types in (value_type.inputs, value_type.outputs))
        return FunctionType.from_lists(list(inputs), list(outputs))
    return value_type


def _depends_on_format(op: Operation) -> bool:
    if isinstance(op, CustomCallOp):
        return not is_lapack_call(op) and not is_opaque(op)
    if has_fact(type(op), Contraction) and _has_floats(op.operands[0]) != _has_floats(op.results[0]):
        return True  # products of floats that are rounded to integers
    return isinstance(op, BitcastConvertOp) or has_quantized(op) or op.dialect_name() not in _KNOWN


def _has_floats(value: SSAValue) -> bool:
    return _replaced(value.type) != value.type


def computes_floats(op: Operation) -> bool:
    """Return whether an op computes floats itself, in a kernel of a user or outside of the program.

    Numbers of a field stand for the results of an opaque call, but show nothing where they differ.
    """
    if is_opaque(op):
        return True
    if isinstance(op, BitcastConvertOp) or not _depends_on_format(op):
        return False
    if isinstance(op, CustomCallOp) and op.call_target_name.data in IDENTITY_CALLS:
        return False
    return any(_replaced(value.type) != value.type or has_quantized(op) for value in (*op.operands, *op.results))


def is_complex(element_type: Attribute) -> bool:
    """Return whether elements are complex numbers."""
    return isinstance(element_type, ComplexType)


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
    if len(tokens) >= len(op.results):
        replace_by(op, *tokens[: len(op.results)])


def _is_tensor(value_type: Attribute) -> bool:
    return isinstance(value_type, TensorType)


def _convert_around(op: Operation, operand_types: list[Attribute], result_types: list[Attribute]) -> None:
    """Restore the types of an op: convert its operands before, and its results after."""
    for index, (operand, kept) in enumerate(zip(operands_of(op), operand_types, strict=True)):
        if operand.type != kept and _is_tensor(kept):
            conversion = insert_before(op, ConvertOp.create(operands=[operand], result_types=[kept]))
            set_operand(op, index, conversion.result)
    for result, kept in zip(op.results, result_types, strict=True):
        if result.type != kept and _is_tensor(kept):
            conversion = ConvertOp.create(operands=[result], result_types=[result.type])
            set_type(result, kept)
            insert(conversion, InsertPoint.after(op), op.location)
            redirect_other_uses(result, conversion.result)
