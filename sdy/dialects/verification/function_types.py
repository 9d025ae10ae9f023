"""Verification of the types of functions, returns and calls."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.wording import counted
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.op_location import error_at
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.stablehlo import control as stablehlo
from sdy.dialects.stablehlo.calls import CompositeOp


def check_function(func: FuncOp) -> None:
    """Check the attributes of arguments and results, the types of the body's arguments, and the end of the body.

    As in MLIR, a function may end with `stablehlo.return`, as comparators of custom calls do, or with an op that is not
    registered. Raises: SdyError SDY-D021, SDY-D022, SDY-D024.
    """
    types = func.function_type
    _check_attributes(func, "arg_attrs", "argument", func.arg_attrs, len(types.inputs))
    _check_attributes(func, "res_attrs", "result", func.res_attrs, len(types.outputs))
    entry = func.body.blocks.first
    if entry is not None:
        body_types = tuple(map(type_of, entry.args))
        _check_types(func, "SDY-D021", "body argument", "argument", func, types.inputs.data, body_types)
    _check_end(func)


def _check_attributes(func: FuncOp, name: str, value: str, attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> None:
    """Check that `attrs` has an entry for each of `count` values, with attributes of dialects only."""
    if attrs is None:
        return
    if len(attrs) != count:
        raise error_at(func, "SDY-D021", f"{name} must have one entry per value: expected {count}, got {len(attrs)}")
    for index, entry in enumerate(attrs):
        for key in entry.data:
            if "." not in key:
                message = f"{value} {index} of @{func.sym_name.data} has the attribute {key}, which is of no dialect"
                hint = f"remove it, or name its dialect: my_dialect.{key}"
                raise error_at(func, "SDY-D024", message, hint)


def _check_end(func: FuncOp) -> None:
    for block in func.body.blocks:
        last = block.last_op
        if isinstance(last, stablehlo.ReturnOp):
            _check_returned(last, func)
        elif last is not None and not isinstance(last, ReturnOp | UnregisteredOp) and not last.successors:
            raise error_at(last, "SDY-D022", f"a function must end with func.return, got {last.name}")


def check_return(op: ReturnOp) -> None:
    """Check that a return has operands of the function's result types.

    Raises: SdyError SDY-D022.
    """
    func = op.parent_op()
    if not isinstance(func, FuncOp):
        raise error_at(op, "SDY-D022", "func.return must be directly inside a function")
    _check_returned(op, func)


def _check_returned(op: Operation, func: FuncOp) -> None:
    expected = func.function_type.outputs.data
    _check_types(op, "SDY-D022", "operand", "result", func, expected, tuple(map(type_of, operands_of(op))))


def check_calls(ops: Iterable[CallOp | CompositeOp]) -> None:
    """Check that the callee, or the decomposition of a composite op, exists and has the types of the op.

    Raises: SdyError SDY-D023 at the first op for which it does not.
    """
    functions: dict[ModuleOp, dict[str, FuncOp]] = {}
    for op in ops:
        module = enclosing(op, ModuleOp)
        assert module is not None  # a module is verified
        if module not in functions:
            found = [func for func in module.ops if type(func) is FuncOp]
            functions[module] = {func.sym_name.data: func for func in reversed(found)}
        callee = op.callee if isinstance(op, CallOp) else op.decomposition
        name = callee.root_reference.data
        func = functions[module].get(name)
        if func is None:
            raise error_at(op, "SDY-D023", f"no function is named @{name}")
        types = func.function_type
        operand_types, result_types = tuple(map(type_of, operands_of(op))), tuple(map(type_of, op.results))
        _check_types(op, "SDY-D023", "operand", "argument", func, types.inputs.data, operand_types)
        _check_types(op, "SDY-D023", "result", "result", func, types.outputs.data, result_types)


def _check_types(
    op: Operation,
    code: str,
    value: str,
    value_of_func: str,
    func: FuncOp,
    expected: tuple[Attribute, ...],
    actual: tuple[Attribute, ...],
) -> None:
    """Check that the operands, results or body arguments of `op` have the types of the arguments or results of `func`.

    `value` and `value_of_func` say what they are in messages.
    """
    if expected == actual:  # faster than the comparison of each type, because most types are the same objects
        return
    if len(expected) != len(actual):
        counts = f"{counted(len(expected), value)}, one per {value_of_func} of @{func.sym_name.data}, got {len(actual)}"
        raise error_at(op, code, f"{op.name}: expected {counts}")
    for index, (expected_type, actual_type) in enumerate(zip(expected, actual, strict=True)):
        if expected_type != actual_type:
            name = f"{value_of_func} {index} of @{func.sym_name.data}"
            raise error_at(op, code, f"{name} must have type {expected_type}, got {actual_type}")
