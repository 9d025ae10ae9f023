"""The call graph of a module, copies of functions, and new names. Source: docs/spec/04, 0.5 to 0.7."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of, recursion_error
from sdy.dialects.ir.walk import ops_around, ops_of
from sdy.passes.rewriting.op_order import op_order

ORIGINAL_NAME = "sdy.original_func_name"


def calls_in(op: Operation) -> list[CallOp]:
    """Return the calls inside `op`, in textual order."""
    return ops_of(op, CallOp)


def callee_name(call: CallOp) -> str:
    """Return the name of the callee."""
    return call.callee.root_reference.data


def callee_of(call: CallOp, functions: dict[str, FuncOp]) -> FuncOp:
    """Return the callee of `call`. Raises: SdyError SDY-T107 if the function does not exist."""
    callee = functions.get(callee_name(call))
    if callee is None:
        message = f"function @{callee_name(call)} is not defined"
        names = ", ".join(f"@{name}" for name in functions)
        raise SdyError(Diagnostic("SDY-T107", message, span_of(call), hint=f"functions: {names}"))
    return callee


def call_sites(module: ModuleOp) -> dict[str, list[CallOp]]:
    """Return for each function name the calls inside the function, in textual order."""
    sites: dict[str, list[CallOp]] = {name: [] for name in functions_of(module)}
    for call in op_order(module).of(CallOp):
        for around in ops_around(call):
            if isinstance(around, FuncOp) and around.parent_op() is module:
                sites[around.sym_name.data].append(call)
    return sites


def callees_first(module: ModuleOp, calls: dict[str, list[CallOp]] | None = None) -> list[FuncOp]:
    """Return the functions with a body in post-order of the call graph: callees first, in textual order.

    `calls` are the call sites of the module, if already known.
    """
    functions = functions_of(module)
    sites = call_sites(module) if calls is None else calls
    ordered: dict[str, FuncOp] = {}
    open_: set[str] = set()

    def visit(func: FuncOp) -> Iterator[FuncOp]:
        open_.add(func.sym_name.data)
        for call in sites[func.sym_name.data]:
            callee = functions.get(callee_name(call))
            if callee is not None and callee.body.blocks and callee.sym_name.data not in open_:
                yield from visit(callee)
        yield func

    for func in functions.values():
        if func.body.blocks and func.sym_name.data not in open_:
            ordered |= {found.sym_name.data: found for found in visit(func)}
    return list(ordered.values())


def original_name(func: FuncOp) -> str:
    """Return the name that the function had before it was copied."""
    name = func.attributes.get(ORIGINAL_NAME)
    return name.data if isinstance(name, StringAttr) else func.sym_name.data


def add_copy(
    func: FuncOp,
    module: ModuleOp,
    functions: dict[str, FuncOp],
    names: UniqueNames,
    callers: tuple[str, ...] = (),
) -> FuncOp:
    """Append a copy of `func` to the module that calls copies of its callees, which are appended before it.

    The copies are added to `functions`, the functions of the module by name. `callers` are the functions being copied
    that lead to this call. Raises: SdyError SDY-T115 if the call graph is recursive.
    """
    name = func.sym_name.data
    if name in callers:
        raise recursion_error(func, (*callers[callers.index(name) :], name))
    copy = copy_with_regions(func)
    copy.attributes[ORIGINAL_NAME] = StringAttr(original_name(func))
    for call in calls_in(copy):
        callee = add_copy(callee_of(call, functions), module, functions, names, (*callers, name))
        call.properties["callee"] = SymbolRefAttr(callee.sym_name.data)
    copy.sym_name = StringAttr(names.new(name))
    functions[copy.sym_name.data] = copy
    module.body.block.add_op(copy)
    return copy


class UniqueNames:
    """Generates symbol names that the module does not use, with one counter for all of them.

    Source: docs/spec/04, 0.5.
    """

    def __init__(self, module: ModuleOp) -> None:
        self._used = {
            name.data
            for op in module.ops
            if isinstance(name := op.properties.get("sym_name", op.attributes.get("sym_name")), StringAttr)
        }
        self._counter = 0

    def new(self, name: str) -> str:
        """Return `name`, or `name_N` if it is taken."""
        unique = name
        while unique in self._used:
            unique = f"{name}_{self._counter}"
            self._counter += 1
        self._used.add(unique)
        return unique
