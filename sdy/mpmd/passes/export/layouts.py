"""Choose the layouts of the operands and results of fragments. Source: docs/spec/08, 4.3.

A layout is `auto` (the compiler chooses), `default`, or a text such as `{0, 1}`; none is written for the default.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity, Span
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.mpmd.dialect.attrs import is_cpu_mesh
from sdy.mpmd.dialect.functions import failure, is_entry_point
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, attrs_of, entries_of, get, write_entries
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import positions_in

LAYOUT = "mhlo.layout_mode"
AUTO, DEFAULT = "auto", "default"


class MarkInputOutputWithLayoutsPass(FunctionPass):
    """Give each value one layout in all fragments: that of the function's arguments and results, if they have one."""

    name = "mpmd-mark-input-output-with-layouts"
    ON = is_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the arguments, and then the results of fragments."""
        layouts = _Layouts(func, findings)
        for argument in func.body.block.args:
            if argument.first_use is not None:
                layouts.choose_for_argument(argument)
        for fragment in fragments_of(func):
            if attrs_of(fragment, RES_ATTRS) is None:
                entries = entries_of(fragment, RES_ATTRS, len(fragment.results))
                write_entries(fragment, RES_ATTRS, entries, keep_empty=True)
            for index, result in enumerate(fragment.results):
                layouts.choose_for_result(fragment, index, result)


@dataclass
class _Users:
    """The layout that the users of a value require: that of a function result (`source`), if it is returned as one."""

    layout: str = AUTO
    source: int = -1
    has_cpu_transfer: bool = False
    count: int = 0  # uses by fragments and transfers


class _Layouts:
    """Chooses the layouts of one function."""

    def __init__(self, func: FuncOp, findings: Findings) -> None:
        self._func = func
        self._findings = findings
        self._positions = positions_in(func.body.block)

    def choose_for_argument(self, argument: BlockArgument) -> None:
        """Choose the layout of an argument. Raises: SdyError SDY-M302 if it is returned with another one."""
        users = self._gather(argument)
        own = self._layout_of(self._func, ARG_ATTRS, argument.index)
        if not _are_compatible(own, users.layout):
            message = f"argument {argument.index} has the layout {own}, but is returned as result {users.source}"
            raise failure(self._func, "SDY-M302", f"{message} with the layout {users.layout}")
        where = f"argument {argument.index}"
        layout = self._resolved(
            own if users.layout == AUTO else users.layout, users, 1, where, span_of_argument(argument)
        )
        count = len(self._func.body.block.args)
        self._store(self._func, ARG_ATTRS, count, argument.index, layout)
        self._distribute(argument, layout)

    def choose_for_result(self, fragment: FragmentOp, index: int, result: SSAValue) -> None:
        """Choose the layout of a result of a fragment; the compiler chooses that of an unused one."""
        layout = AUTO
        if result.first_use is not None:
            users = self._gather(result)
            layout = self._resolved(users.layout, users, 0, f"result {index}", span_of(fragment))
        self._store(fragment, RES_ATTRS, len(fragment.results), index, layout)
        self._distribute(result, layout)

    def _resolved(self, layout: str, users: _Users, free_uses: int, where: str, span: Span | None) -> str:
        """Return a layout, or the default one for a value that is transferred to a CPU or has many uses."""
        if users.has_cpu_transfer:
            if not _are_compatible(layout, DEFAULT):
                message = f"{where} is transferred to a CPU, so its layout {layout} becomes the default one"
                emit(self._findings.ctx, Diagnostic("SDY-M303", message, span, severity=Severity.WARNING))
            return DEFAULT
        return DEFAULT if layout == AUTO and users.count > free_uses else layout

    def _gather(self, value: SSAValue) -> _Users:
        users = _Users()
        uses = sorted(value.uses, key=lambda use: (self._positions.get(use.operation, 0), use.index), reverse=True)
        for use in uses:
            user = use.operation
            if not isinstance(user, ReturnOp):
                users.has_cpu_transfer |= _is_to_cpu(user)
                users.count += 1
                continue
            layout = self._layout_of(self._func, RES_ATTRS, use.index)
            if not _are_compatible(layout, users.layout):
                message = f"result {users.source} is also returned as result {use.index}, with another layout"
                text = f"{message}: {users.layout} and {layout}"
                raise SdyError(Diagnostic("SDY-M302", text, span_of(user)))
            if layout != AUTO:
                users.layout, users.source = layout, use.index
        return users

    def _distribute(self, value: SSAValue, layout: str) -> None:
        for use in list(value.uses):
            user = use.operation
            if isinstance(user, FragmentOp):
                self._store(user, ARG_ATTRS, len(user.operands), use.index, layout)
            elif isinstance(user, ReturnOp):
                count = len(terminator_of(self._func.body).operands)
                self._store(self._func, RES_ATTRS, count, use.index, layout)
            elif isinstance(user, TransferOp):
                self._distribute(user.result, DEFAULT if _is_to_cpu(user) else layout)

    def _layout_of(self, op: Operation, name: str, index: int) -> str:
        layout = get(op, name, index, LAYOUT)
        return layout.data if isinstance(layout, StringAttr) else DEFAULT

    def _store(self, op: Operation, name: str, count: int, index: int, layout: str) -> None:
        entries = entries_of(op, name, count)
        entries[index].pop(LAYOUT, None)
        if layout != DEFAULT:
            entries[index][LAYOUT] = StringAttr(layout)
        write_entries(op, name, entries, keep_empty=isinstance(op, FragmentOp))


def _is_to_cpu(op: Operation) -> bool:
    return isinstance(op, TransferOp) and is_cpu_mesh(op.target_type.mesh)


def _are_compatible(first: str, second: str) -> bool:
    return AUTO in (first, second) or first == second
