"""Mark which operands and results of fragments are in the memory of the host. Source: docs/spec/08, 4.2."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, OpResult, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.host_memory import HOST, MEMORY_KIND, HostMemory
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.mpmd.dialect.functions import is_entry_point, module_around
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import DEVICE
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, entries_of, get, write_entries
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import positions_in


class MarkOffloadedInputOutputPass(FunctionPass):
    """Write the memory kind of what fragments take from the host and return to it; check that of the function."""

    name = "mpmd-mark-offloaded-input-output"
    ON = is_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Mark the fragments in order, and then compare arguments and results."""
        host = HostMemory(module_around(func))
        for fragment in fragments_of(func):
            inputs = entries_of(fragment, ARG_ATTRS)
            for entry, operand in zip(inputs, fragment.operands, strict=True):
                if _is_host(kind_of_producer(operand)):
                    entry[MEMORY_KIND] = StringAttr(HOST)
            write_entries(fragment, ARG_ATTRS, inputs, keep_empty=True)
            outputs = entries_of(fragment, RES_ATTRS)
            for entry, value in zip(outputs, fragment.returned, strict=True):
                if host.holds(value):
                    entry[MEMORY_KIND] = StringAttr(HOST)
            write_entries(fragment, RES_ATTRS, outputs, keep_empty=True)
        for argument in func.body.block.args:
            _check_argument(func, argument, findings)
        end = terminator_of(func.body)
        for index, value in enumerate(end.operands):
            declared, actual = get(func, RES_ATTRS, index, MEMORY_KIND), kind_of_producer(value)
            if _is_host(declared) != _is_host(actual):
                message = (
                    f"result {index} is declared in memory {_shown(declared)}, but its value is in {_shown(actual)}"
                )
                findings.error(end, "SDY-M301", message)


def kind_of_producer(value: SSAValue) -> Attribute | None:
    """Return the memory kind that the attributes of a function argument or of a fragment give a value, or None."""
    if isinstance(value.owner, Block):
        func = value.owner.parent_op()
        assert isinstance(value, BlockArgument)
        return get(func, ARG_ATTRS, value.index, MEMORY_KIND) if isinstance(func, FuncOp) else None
    assert isinstance(value, OpResult)
    is_fragment = isinstance(value.owner, FragmentOp)
    return get(value.owner, RES_ATTRS, value.index, MEMORY_KIND) if is_fragment else None


def _is_host(kind: Attribute | None) -> bool:
    return isinstance(kind, StringAttr) and kind.data == HOST


def _shown(kind: Attribute | None) -> str:
    return kind.data if isinstance(kind, StringAttr) else f"{DEVICE} (the default)"


def _check_argument(func: FuncOp, argument: BlockArgument, findings: Findings) -> None:
    """Note an error unless all users of an argument expect it in the memory that it is declared in."""
    positions = positions_in(func.body.block)
    uses = sorted(argument.uses, key=lambda use: (positions.get(use.operation, 0), use.index), reverse=True)
    kinds: list[Attribute | None] = []
    for use in uses:
        user = use.operation
        is_return = isinstance(user, ReturnOp)
        holder, name = (func, RES_ATTRS) if is_return else (user, ARG_ATTRS)
        kinds.append(get(holder, name, use.index, MEMORY_KIND) if is_return or isinstance(user, FragmentOp) else None)
    other = next((kind for kind in kinds if kind != kinds[0]), kinds[0]) if kinds else None
    span = span_of_argument(argument)
    if kinds and other != kinds[0]:
        message = (
            f"the users of argument {argument.index} expect different memories: {_shown(kinds[0])}, {_shown(other)}"
        )
        findings.errors.append(Diagnostic("SDY-M301", message, span or span_of(func)))
    declared = get(func, ARG_ATTRS, argument.index, MEMORY_KIND)
    if kinds and _is_host(declared) != _is_host(kinds[0]):
        message = f"argument {argument.index} is declared in memory {_shown(declared)}, but used in {_shown(kinds[0])}"
        findings.errors.append(Diagnostic("SDY-M301", message, span or span_of(func)))
