"""The calls of functions with a topology, and changes of such functions. Source: docs/spec/07, 4.3."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.mpmd.dialect.functions import is_mpmd, module_around, update_function_type
from sdy.mpmd.dialect.ops import CallOp
from sdy.mpmd.dialect.regions import ForOp
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, attrs_of, entries_of, write_entries
from sdy.mpmd.passes.tools.uses import is_used


def calls_by_callee(module: ModuleOp) -> dict[str, list[CallOp]]:
    """Return the calls with used results in functions with a topology and in their loops, by the name of the callee."""
    calls: dict[str, list[CallOp]] = {}
    for func in functions_of(module).values():
        if is_mpmd(func):
            _collect(func, calls)
    return calls


def _collect(op: Operation, calls: dict[str, list[CallOp]]) -> None:
    for block in blocks_of(op):
        for inner in ops_in(block):
            if isinstance(inner, CallOp) and is_used(inner):
                calls.setdefault(inner.callee_name, []).append(inner)
            elif isinstance(inner, ForOp):
                _collect(inner, calls)


def callee(call: CallOp) -> FuncOp:
    """Return the function that a call calls; a verified module has it."""
    return functions_of(module_around(call))[call.callee_name]


def returned_values(func: FuncOp) -> Sequence[SSAValue]:
    """Return the values that a function returns."""
    return terminator_of(func.body).operands


def drop_arguments(func: FuncOp, dropped: Collection[int]) -> None:
    """Erase unused arguments of a function, with their attributes."""
    _drop_attributes(func, ARG_ATTRS, len(func.body.block.args), dropped)
    for index in sorted(dropped, reverse=True):
        func.body.block.erase_arg(func.body.block.args[index])
    update_function_type(func)


def drop_results(func: FuncOp, dropped: Collection[int]) -> None:
    """Erase results of a function, with their attributes."""
    end = terminator_of(func.body)
    _drop_attributes(func, RES_ATTRS, len(end.operands), dropped)
    end.operands = [value for index, value in enumerate(end.operands) if index not in dropped]
    update_function_type(func)


def _drop_attributes(func: FuncOp, name: str, count: int, dropped: Collection[int]) -> None:
    if attrs_of(func, name) is not None:
        entries = entries_of(func, name, count)
        write_entries(func, name, [entry for index, entry in enumerate(entries) if index not in dropped])


def block_of_op(op: Operation) -> Block:
    """Return the block that an op is in."""
    assert op.parent is not None  # passes only ask for ops of a module
    return op.parent
