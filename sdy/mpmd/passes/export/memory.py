"""Mark what fragments may overwrite, the memory that they must leave free, and the layouts of operands and results.

A layout is `auto` (the compiler chooses), `default`, or a text such as `{0, 1}`; none is written for the default.
Source: docs/spec/08, 4.3, 4.7 and 4.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity, Span
from sdy.dialects.constants.elements import codec_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.host_memory import MEMORY_KIND, ON_HOST
from sdy.dialects.ir.context import emit
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.dialects.sharded_types import local_type, static_shape
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.attrs import is_cpu_mesh
from sdy.mpmd.dialect.functions import failure, is_entry_point, is_mpmd, topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.dialect.value_attributes import (
    ARG_ATTRS,
    RES_ATTRS,
    entries_of,
    get,
    value_attribute,
    write_entries,
)
from sdy.mpmd.passes.export.lower_to_fragment_calls import RESERVED_MEMORY
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import distinct, positions_in, users_of, uses_from_last

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
            write_entries(fragment, RES_ATTRS, entries_of(fragment, RES_ATTRS), keep_empty=True)
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
        self._store(self._func, ARG_ATTRS, argument.index, layout)
        self._distribute(argument, layout)

    def choose_for_result(self, fragment: FragmentOp, index: int, result: SSAValue) -> None:
        """Choose the layout of a result of a fragment; the compiler chooses that of an unused one."""
        layout = AUTO
        if result.first_use is not None:
            users = self._gather(result)
            layout = self._resolved(users.layout, users, 0, f"result {index}", span_of(fragment))
        self._store(fragment, RES_ATTRS, index, layout)
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
        for use in uses_from_last(value, self._positions):
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
                self._store(user, ARG_ATTRS, use.index, layout)
            elif isinstance(user, ReturnOp):
                self._store(self._func, RES_ATTRS, use.index, layout)
            elif isinstance(user, TransferOp):
                self._distribute(user.result, DEFAULT if _is_to_cpu(user) else layout)

    def _layout_of(self, op: Operation, name: str, index: int) -> str:
        layout = get(op, name, index, LAYOUT)
        return layout.data if isinstance(layout, StringAttr) else DEFAULT

    def _store(self, op: Operation, name: str, index: int, layout: str) -> None:
        entries = entries_of(op, name)
        entries[index].pop(LAYOUT, None)
        if layout != DEFAULT:
            entries[index][LAYOUT] = StringAttr(layout)
        write_entries(op, name, entries, keep_empty=isinstance(op, FragmentOp))


def _is_to_cpu(op: Operation) -> bool:
    return isinstance(op, TransferOp) and is_cpu_mesh(op.target_type.mesh)


def _are_compatible(first: str, second: str) -> bool:
    return AUTO in (first, second) or first == second


ALIASING, DONOR = "tf.aliasing_output", "jax.buffer_donor"


class MarkAliasingAndDonationPass(FunctionPass):
    """Let fragments store results in, or free, the operands that nothing needs after them."""

    name = "mpmd-mark-aliasing-and-donation"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Mark the operands of the fragments, in order."""
        last_uses: dict[SSAValue, tuple[Operation, int]] = {}
        for op in func.body.block.ops:
            for index, operand in enumerate(op.operands):
                last_uses[operand] = op, index
        for fragment in fragments_of(func):
            entries = entries_of(fragment, ARG_ATTRS)
            taken: set[int] = set()
            marks = {
                index: mark
                for index, operand in enumerate(fragment.operands)
                if last_uses[operand] == (fragment, index)
                and (mark := _mark_of(func, fragment, index, entries, taken)) is not None
            }
            for index, mark in marks.items():
                entries[index] |= mark
            if marks:
                write_entries(fragment, ARG_ATTRS, entries)


def _mark_of(
    func: FuncOp, fragment: FragmentOp, index: int, entries: list[dict[str, Attribute]], taken: set[int]
) -> dict[str, Attribute] | None:
    """Return the mark of an operand that is used for the last time: aliased to a result, which is taken, or donated."""
    value = fragment.operands[index]
    if entries[index].get(MEMORY_KIND) == ON_HOST or any(isinstance(user, TransferOp) for user in users_of(value)):
        return None
    preferred: int | None = None
    if isinstance(value, BlockArgument):
        aliased = value_attribute(value, ALIASING)
        if is_donated(value):
            return {DONOR: IntegerAttr.from_bool(True)}
        if not isinstance(aliased, IntegerAttr):
            return None
        returned = terminator_of(func.body).operands
        number = aliased.value.data
        preferred = _result_behind(returned[number], fragment) if number < len(returned) else None
    fitting = [
        number
        for number, result in enumerate(fragment.results)
        if number not in taken
        and result.type == value.type
        and value_attribute(result, MEMORY_KIND) != ON_HOST
        and value_attribute(result, LAYOUT) == entries[index].get(LAYOUT)
    ]
    if not fitting:
        return {DONOR: IntegerAttr.from_bool(True)}
    chosen = preferred if preferred in fitting else fitting[0]
    taken.add(chosen)
    return {ALIASING: IntegerAttr(chosen, i32)}


def _result_behind(value: SSAValue, fragment: FragmentOp) -> int | None:
    """Return the result of a fragment that becomes a value through ops with one operand, or None."""
    while isinstance(value, OpResult) and value.op is not fragment:
        if isinstance(value.op, FragmentOp) or len(value.op.operands) != 1:
            return None
        value = value.op.operands[0]
    return value.index if isinstance(value, OpResult) else None


def is_donated(argument: BlockArgument) -> bool:
    """Return whether the caller of a function gives the memory of an argument away. Aliased ones do not count."""
    mark = value_attribute(argument, DONOR)
    return isinstance(mark, IntegerAttr) and bool(mark.value.data)


class MarkFragmentReservedMemoryPass(FunctionPass):
    """Write on each fragment the bytes of a device that values take which the fragment does not use."""

    name = "mpmd-mark-fragment-reserved-memory"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Follow the values that are alive, in program order."""
        topology = topology_of(func)
        memory = _Memory(func, {} if topology is None else {named.name: named.mesh for named in topology.data})
        for op in func.body.block.ops:
            if isinstance(op, FragmentOp):
                op.attributes[RESERVED_MEMORY] = IntegerAttr(memory.reserved_for(op), i64)
            if isinstance(op, FragmentOp | TransferOp):
                memory.run(op)
            elif not isinstance(op, FragmentCallOp | ReturnOp):
                findings.error(op, "SDY-M304", f"expected fragments, transfers and a return, got {op.name}")


class _Memory:
    """The bytes that are alive on one device of each mesh."""

    def __init__(self, func: FuncOp, meshes: dict[str, Mesh]) -> None:
        self._meshes = meshes
        self._live = dict.fromkeys(meshes, Fraction(0))
        self._last_users = {operand: op for op in func.body.block.ops for operand in op.operands}
        for argument in func.body.block.args:
            is_on_host = value_attribute(argument, MEMORY_KIND) == ON_HOST
            if not is_on_host and not (is_donated(argument) and argument.first_use is None):
                self._add([argument], 1)

    def reserved_for(self, fragment: FragmentOp) -> int:
        """Return the bytes that are alive on the mesh of a fragment, without those of its operands."""
        own = sum((self._size(value) for value in self._device_operands(fragment)), Fraction(0))
        return ceil(self._live[fragment.mesh] - own)

    def run(self, op: FragmentOp | TransferOp) -> None:
        """Free the operands of an op that nothing needs any more, and add its results."""
        dying = [value for value in self._device_operands(op) if self._last_users[value] is op]
        self._add((value for value in dying if not isinstance(value, BlockArgument) or is_donated(value)), -1)
        used = (result for result in op.results if result.first_use is not None)
        self._add((result for result in used if value_attribute(result, MEMORY_KIND) != ON_HOST), 1)

    def _device_operands(self, op: Operation) -> list[SSAValue]:
        entries = entries_of(op, ARG_ATTRS)
        pairs = zip(op.operands, entries, strict=True)
        return distinct(value for value, entry in pairs if entry.get(MEMORY_KIND) != ON_HOST)

    def _add(self, values: Iterable[SSAValue], sign: int) -> None:
        for value in values:
            if isinstance(value.type, MeshTensorType):
                self._live[value.type.mesh] += sign * self._size(value)

    def _size(self, value: SSAValue) -> Fraction:
        """Return the bytes of a value on one device; elements of less than a byte count as such."""
        if not isinstance(value.type, MeshTensorType):
            return Fraction(0)
        tensor, sharding = value.type.tensor, value.type.sharding
        local = tensor if sharding is None else local_type(tensor, sharding, self._meshes[value.type.mesh])
        shape = static_shape(local or tensor) or ()
        codec = codec_of(tensor.element_type)
        return Fraction(prod(shape) * (0 if codec is None else codec.bit_width), 8)
