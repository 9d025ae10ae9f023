"""Verification of the types of functions, returns and calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import MAIN
from sdy.dialects.stablehlo import control as stablehlo
from sdy.dialects.stablehlo.calls import CompositeOp


def check_function(func: FuncOp) -> None:
    """Check that the body's arguments have the types of the function, and that the body ends with `func.return`.

    A function that only a custom call refers to, such as the comparator of `lax.approx_max_k`, may end with
    `stablehlo.return`. Raises: SdyError SDY-D021, SDY-D022.
    """
    types = func.function_type
    for name, attrs, count in (
        ("arg_attrs", func.arg_attrs, len(types.inputs)),
        ("res_attrs", func.res_attrs, len(types.outputs)),
    ):
        if attrs is not None and len(attrs) != count:
            raise _failure(
                func, "SDY-D021", f"{name} must have one entry per value: expected {count}, got {len(attrs)}"
            )
    entry = func.body.blocks.first
    if entry is not None:
        _check_types(func, "SDY-D021", "argument", types.inputs.data, entry.arg_types)
    _check_end(func, (ReturnOp,) if _is_main(func) else (ReturnOp, stablehlo.ReturnOp))


def _is_main(func: FuncOp) -> bool:
    """Return whether a function is the main function: by its name, or because it is the only one."""
    module = func.parent_op()
    is_only = isinstance(module, ModuleOp) and sum(isinstance(op, FuncOp) for op in module.ops) == 1
    return is_only or func.sym_name.data == MAIN


def _check_end(func: FuncOp, terminators: tuple[type[Operation], ...]) -> None:
    for block in func.body.blocks:
        last = block.last_op
        if last is not None and not isinstance(last, terminators) and not last.successors:
            raise _failure(last, "SDY-D022", f"a function must end with func.return, got {last.name}")


def check_return(op: ReturnOp) -> None:
    """Check that a return has operands of the function's result types.

    Raises: SdyError SDY-D022.
    """
    func = op.parent_op()
    if not isinstance(func, FuncOp):
        raise _failure(op, "SDY-D022", "func.return must be directly inside a function")
    _check_types(op, "SDY-D022", "result", func.function_type.outputs.data, op.operand_types)


def check_call(op: CallOp | CompositeOp) -> None:
    """Check that the callee, or the decomposition of a composite op, exists and has the types of the op.

    Raises: SdyError SDY-D023.
    """
    callee = op.callee if isinstance(op, CallOp) else op.decomposition
    _check_callee(op, callee.root_reference.data)


def _check_callee(op: Operation, callee: str) -> None:
    module = op.parent_op()
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    func = _function_named(callee, module) if module is not None else None
    if func is None:
        raise _failure(op, "SDY-D023", f"no function is named @{callee}")
    _check_end(func, (ReturnOp,))
    _check_types(op, "SDY-D023", f"argument of @{callee}", func.function_type.inputs.data, op.operand_types)
    _check_types(op, "SDY-D023", f"result of @{callee}", func.function_type.outputs.data, op.result_types)


def _function_named(name: str, module: ModuleOp) -> FuncOp | None:
    symbol = StringAttr(name)
    return next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name == symbol), None)


def _check_types(
    op: Operation, code: str, name: str, expected: Sequence[Attribute], actual: Sequence[Attribute]
) -> None:
    if len(expected) != len(actual):
        raise _failure(op, code, f"{op.name}: expected {len(expected)} ({name}), got {len(actual)}")
    for index, (expected_type, actual_type) in enumerate(zip(expected, actual, strict=True)):
        if expected_type != actual_type:
            raise _failure(op, code, f"{name} {index} must have type {expected_type}, got {actual_type}")


def _failure(op: Operation, code: str, message: str) -> SdyError:
    return SdyError(Diagnostic(code, message, span_of(op)))
