"""Functions and calls, by name. Source: docs/spec/04, 0.5 to 0.9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of

MAIN = "main"


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions that stand directly in `module`, by name, in program order."""
    return {op.sym_name.data: op for op in module.ops if type(op) is FuncOp}


def main_function(module: ModuleOp) -> FuncOp:
    """The only function of the module, or the one called `main`.

    Raises: SdyError SDY-T101 where there are several and none has that name, or none at all.
    """
    functions = functions_of(module)
    if len(functions) == 1:
        return next(iter(functions.values()))
    if MAIN not in functions:
        names = ", ".join(f"@{name}" for name in functions) or "none"
        message = f"the module has no function @{MAIN}; its functions: {names}"
        raise SdyError(Diagnostic("SDY-T101", message, span_of(module), hint=f"call the entry function @{MAIN}"))
    return functions[MAIN]


def calls_of(module: ModuleOp, func: FuncOp) -> Iterator[CallOp]:
    """The calls of `func`: per op of the module first those in its own regions, then those nested deeper.

    This is the order in which symbol uses are found, and propagation depends on it.
    """
    for op in module.ops:
        pending: list[Operation] = [op]
        while pending:
            current = pending.pop()
            for region in current.regions:
                for inner in (inner for block in region.blocks for inner in block.ops):
                    if isinstance(inner, CallOp) and inner.callee.root_reference.data == func.sym_name.data:
                        yield inner
                    if inner.regions:
                        pending.append(inner)


def recursion_error(func: FuncOp, chain: Sequence[str]) -> SdyError:
    """What to raise at `func`, where the calls of `chain`, from caller to callee, do not end."""
    message = f"the calls of @{func.sym_name.data} lead back to it, and recursion is not supported"
    calls = " -> ".join(f"@{name}" for name in chain)
    return SdyError(Diagnostic("SDY-T115", message, span_of(func), hint=f"calls: {calls}"))
