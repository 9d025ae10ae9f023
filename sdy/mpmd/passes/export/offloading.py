"""Mark which operands and results of fragments are in the memory of the host. Source: docs/spec/08, 4.2."""

from __future__ import annotations

from itertools import compress

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.host_memory import MEMORY_KIND, ON_HOST, HostMemory
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.mpmd.dialect.functions import is_entry_point, module_around
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import DEVICE
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, entries_of, get, value_attribute, write_entries
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import positions_in, uses_from_last


class MarkOffloadedInputOutputPass(FunctionPass):
    """Write the memory kind of what fragments take from the host and return to it; check that of the function."""

    name = "mpmd-mark-offloaded-input-output"
    ON = is_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Mark the fragments in order, and then compare arguments and results."""
        host = HostMemory(module_around(func))
        for fragment in fragments_of(func):
            for name, on_host in (
                (ARG_ATTRS, [kind_of_producer(operand) == ON_HOST for operand in fragment.operands]),
                (RES_ATTRS, [host.holds(value) for value in fragment.returned]),
            ):
                entries = entries_of(fragment, name)
                for entry, is_on_host in zip(entries, on_host, strict=True):
                    if is_on_host:
                        entry[MEMORY_KIND] = ON_HOST
                write_entries(fragment, name, entries, keep_empty=True)
        for argument in func.body.block.args:
            _check_argument(func, argument, findings)
        end = terminator_of(func.body)
        for index, value in enumerate(end.operands):
            declared, actual = get(func, RES_ATTRS, index, MEMORY_KIND), kind_of_producer(value)
            if (declared == ON_HOST) != (actual == ON_HOST):
                shown = f"{_shown(declared)}, but its value is in {_shown(actual)}"
                findings.error(end, "SDY-M301", f"result {index} is declared in memory {shown}")


def kind_of_producer(value: SSAValue) -> Attribute | None:
    """Return the memory kind that the attributes of a function argument or of a fragment give a value, or None."""
    is_known = isinstance(value, BlockArgument) or isinstance(value.owner, FragmentOp)
    return value_attribute(value, MEMORY_KIND) if is_known else None


def _shown(kind: Attribute | None) -> str:
    return kind.data if isinstance(kind, StringAttr) else f"{DEVICE} (the default)"


def _check_argument(func: FuncOp, argument: BlockArgument, findings: Findings) -> None:
    """Note an error unless all users of an argument expect it in the memory that it is declared in."""
    kinds: list[Attribute | None] = []
    for use in uses_from_last(argument, positions_in(func.body.block)):
        is_return = isinstance(use.operation, ReturnOp)
        holder, name = (func, RES_ATTRS) if is_return else (use.operation, ARG_ATTRS)
        kinds.append(get(holder, name, use.index, MEMORY_KIND))
    if not kinds:
        return
    first, other = kinds[0], next((kind for kind in kinds if kind != kinds[0]), kinds[0])
    declared = value_attribute(argument, MEMORY_KIND)
    messages = [
        f"the users of argument {argument.index} expect different memories: {_shown(first)}, {_shown(other)}",
        f"argument {argument.index} is declared in memory {_shown(declared)}, but used in {_shown(first)}",
    ]
    are_wrong = other != first, (declared == ON_HOST) != (first == ON_HOST)
    span = span_of_argument(argument) or span_of(func)
    findings.errors += [Diagnostic("SDY-M301", message, span) for message in compress(messages, are_wrong)]
