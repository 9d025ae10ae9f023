"""Mark what fragments may overwrite, and the memory that they must leave free. Source: docs/spec/08, 4.7 and 4.8."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, prod

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.constants.elements import codec_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.sharded_types import local_type, static_shape
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.functions import is_mpmd, topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import HOST, MeshTensorType
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, MEMORY_KIND, RES_ATTRS, entries_of, get, write_entries
from sdy.mpmd.passes.export.layouts import LAYOUT
from sdy.mpmd.passes.export.lower_to_fragment_calls import RESERVED_MEMORY
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import distinct, users_of

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
            entries = entries_of(fragment, ARG_ATTRS, len(fragment.operands))
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
    if is_in_host_memory(entries[index]) or any(isinstance(user, TransferOp) for user in users_of(value)):
        return None
    preferred: int | None = None
    if isinstance(value, BlockArgument):
        aliased = get(func, ARG_ATTRS, value.index, ALIASING)
        if is_donated(func, value):
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
        and get(fragment, RES_ATTRS, number, MEMORY_KIND) != StringAttr(HOST)
        and get(fragment, RES_ATTRS, number, LAYOUT) == entries[index].get(LAYOUT)
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


def is_donated(func: FuncOp, argument: BlockArgument) -> bool:
    """Return whether the caller of a function gives the memory of an argument away. Aliased ones do not count."""
    mark = get(func, ARG_ATTRS, argument.index, DONOR)
    return isinstance(mark, IntegerAttr) and bool(mark.value.data)


def is_in_host_memory(entry: dict[str, Attribute]) -> bool:
    """Return whether the attributes of a value place it in the memory of the host."""
    return entry.get(MEMORY_KIND) == StringAttr(HOST)


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
        self._func = func
        self._meshes = meshes
        self._live = dict.fromkeys(meshes, Fraction(0))
        self._last_users = {operand: op for op in func.body.block.ops for operand in op.operands}
        for argument in func.body.block.args:
            is_on_host = get(func, ARG_ATTRS, argument.index, MEMORY_KIND) == StringAttr(HOST)
            if not is_on_host and not (is_donated(func, argument) and argument.first_use is None):
                self._add([argument], 1)

    def reserved_for(self, fragment: FragmentOp) -> int:
        """Return the bytes that are alive on the mesh of a fragment, without those of its operands."""
        own = sum((self._size(value) for value in self._device_operands(fragment)), Fraction(0))
        return ceil(self._live[fragment.mesh] - own)

    def run(self, op: FragmentOp | TransferOp) -> None:
        """Free the operands of an op that nothing needs any more, and add its results."""
        dying = [value for value in self._device_operands(op) if self._last_users[value] is op]
        self._add((value for value in dying if self._may_be_freed(value)), -1)
        results = (
            result
            for index, result in enumerate(op.results)
            if result.first_use is not None and get(op, RES_ATTRS, index, MEMORY_KIND) != StringAttr(HOST)
        )
        self._add(results, 1)

    def _device_operands(self, op: Operation) -> list[SSAValue]:
        entries = entries_of(op, ARG_ATTRS, len(op.operands))
        pairs = zip(op.operands, entries, strict=True)
        return distinct(value for value, entry in pairs if not is_in_host_memory(entry))

    def _may_be_freed(self, value: SSAValue) -> bool:
        return not isinstance(value, BlockArgument) or is_donated(self._func, value)

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
