"""Lookup of functions and calls by name. Source: docs/spec/04, 0.5 to 0.9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.op_location import error_at
from sdy.dialects.ir.walk import enclosing, ops_of

MAIN = "main"


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """Return the functions directly in `module`, by name, in program order."""
    return {op.sym_name.data: op for op in module.ops if type(op) is FuncOp}


def main_function(module: ModuleOp) -> FuncOp:
    """Return the only function of the module, or the one named `main`.

    Raises: SdyError SDY-T101 if there are several functions and none has that name, or if there is none.
    """
    functions = functions_of(module)
    if len(functions) == 1:
        return next(iter(functions.values()))
    if MAIN not in functions:
        names = ", ".join(f"@{name}" for name in functions) or "none"
        message = f"expected a function named @{MAIN}; functions of the module: {names}"
        raise error_at(module, "SDY-T101", message, f"name the entry function @{MAIN}")
    return functions[MAIN]


def main_block(module: ModuleOp) -> Block:
    """Return the body of the main function.

    Raises: SdyError SDY-T101 as `main_function`, and if the function has no body.
    """
    func = main_function(module)
    if func.is_declaration:
        message = f"expected a body of the entry function @{func.sym_name.data}, got a declaration"
        raise error_at(func, "SDY-T101", message, "write the ops of the function in braces")
    return func.body.block


def called_functions(op: Operation, functions: Mapping[str, FuncOp]) -> list[FuncOp]:
    """Return those of some functions, by name, that the calls inside an op call, in textual order."""
    names = (call.callee.root_reference.data for call in ops_of(op, CallOp))
    return [functions[name] for name in names if name in functions]


def calls_of(module: ModuleOp, func: FuncOp) -> Sequence[CallOp]:
    """Return the calls of `func` in the order of `calls_by_callee`."""
    return calls_by_callee(module).get(func.sym_name.data, ())


def calls_by_callee(module: ModuleOp) -> dict[str, list[CallOp]]:
    """Return all calls by the name of the function that they call.

    For each op of the module, the calls directly in its regions come first, then nested ones. This is the order in
    which MLIR finds symbol uses; propagation depends on it.
    """
    found: dict[str, list[CallOp]] = {}
    for op in module.ops:
        pending: list[Operation] = [op]
        while pending:
            current = pending.pop()
            for region in current.regions:
                for inner in (inner for block in region.blocks for inner in block.ops):
                    if isinstance(inner, CallOp):
                        found.setdefault(inner.callee.root_reference.data, []).append(inner)
                    if inner.regions:
                        pending.append(inner)
    return found


def callers_first(module: ModuleOp) -> list[FuncOp]:
    """Return the functions of a module, each after those that call it.

    Raises: SdyError SDY-T115 if a function calls itself.
    """
    calls, functions = calls_by_callee(module), functions_of(module)
    callers = {func: map(_function_around, calls.get(name, ())) for name, func in functions.items()}
    try:
        return list(TopologicalSorter(callers).static_order())
    except CycleError as error:
        cycle: list[FuncOp] = error.args[1]
        raise recursion_error(cycle[0], [func.sym_name.data for func in cycle]) from None


def _function_around(call: CallOp) -> FuncOp:
    func = enclosing(call, FuncOp)
    assert func is not None  # calls are in functions
    return func


def recursion_error(func: FuncOp, chain: Sequence[str]) -> SdyError:
    """Return the error at `func` for a cycle of calls; `chain` lists function names from caller to callee."""
    message = f"@{func.sym_name.data} is recursive, which is not supported"
    calls = " -> ".join(f"@{name}" for name in chain)
    return error_at(func, "SDY-T115", message, f"calls: {calls}")
