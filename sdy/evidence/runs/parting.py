"""The first op at which a local program parts from the program that it stands for.

Numbers drawn from a large field are nearly unique, so that values are compared without names, places or shardings. A
value of the devices is *known* if each of its elements occurs in some value of the program, and *in place* if the
elements of each device are a window of such a value. Partial sums and rearrangements are neither, but lead to values
that are: so an op is blamed if its operands are known, its result is not, and no value between it and the results is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.facts.traits import is_terminator, moves_elements, terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.collectives import is_grouped
from sdy.dialects.stablehlo.elementwise import DivideOp
from sdy.interpreter.arrays.element_types import Array, is_integer
from sdy.interpreter.arrays.field_types import Residues, is_field, of_parts, parts_of
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.field import functions
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding import ReductionKind
from sdy.partitioner.emit.collective_ops import all_reduce
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND

PARTS = "SDY-V006"
MOST_ELEMENTS = 30_000_000  # of the values of the program, which are kept
MOST_WINDOWS = 512  # places of one element that are looked at: rows of repeated tokens are equal
LEAST_UNUSUAL = 2.0**20  # smaller residues occur in many values
# The combinations that are tried: those of the collectives that a partitioner inserts.
NAMES = {ReductionKind.SUM: "sum", ReductionKind.MAX: "maximum", ReductionKind.MIN: "minimum"}


class ProgramValues:
    """The elements of all values of a run of the program on one device, and where they are."""

    def __init__(self) -> None:
        self._arrays: dict[int, list[Residues]] = {}
        self._index: dict[int, tuple[Residues, NDArray[np.intp]]] = {}
        self._count = 0

    @property
    def is_complete(self) -> bool:
        """Return whether all values were kept."""
        return self._count <= MOST_ELEMENTS

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Keep the results of an op."""
        for array in results:
            self.add(array)

    def add(self, array: Array) -> None:
        """Keep a value, unless there are too many."""
        for part in _parts(array):
            self._count += part.size
            if self.is_complete:
                self._arrays.setdefault(part.ndim, []).append(part)

    def are_known(self, numbers: Residues) -> bool:
        """Return whether all numbers that are not usual ones occur in some value."""
        numbers = np.unique(numbers[np.isfinite(numbers) & (np.abs(numbers) >= LEAST_UNUSUAL)])
        for rank in self._arrays:
            known, _ = self._of_rank(rank)
            places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            numbers = numbers[known[places] != numbers] if len(known) else numbers
        return not numbers.size

    def has_window(self, block: Residues) -> bool:
        """Return whether an array is a part of a value, with consecutive elements of each dim; usual numbers are."""
        unusual = np.argwhere(np.isfinite(block) & (np.abs(block) >= LEAST_UNUSUAL))
        if not len(unusual):
            return True
        if block.ndim not in self._arrays:
            return False
        anchor = tuple(int(each) for each in unusual[0])
        known, places = self._of_rank(block.ndim)
        number = float(block[anchor])
        first = int(np.searchsorted(known, number))
        near = slice(first, first + MOST_WINDOWS)
        return any(self._is_window(block, anchor, int(place)) for place in places[near][known[near] == number])

    def _is_window(self, block: Residues, anchor: tuple[int, ...], place: int) -> bool:
        for array in self._arrays[block.ndim]:
            if place < array.size:
                position = np.unravel_index(place, array.shape)
                starts = [int(each) - offset for each, offset in zip(position, anchor, strict=True)]
                part = array[tuple(slice(max(0, at), at + size) for at, size in zip(starts, block.shape, strict=True))]
                return min(starts, default=0) >= 0 and np.array_equal(part, block, equal_nan=True)
            place -= array.size
        raise AssertionError("a place lies in one of the arrays")

    def _of_rank(self, rank: int) -> tuple[Residues, NDArray[np.intp]]:
        """Return the sorted elements of all values of a rank, and their places in these values, one after another."""
        if rank not in self._index:
            flat = np.concatenate([array.reshape(-1) for array in self._arrays[rank]])
            order = np.argsort(flat, kind="stable")
            self._index[rank] = flat[order], order
        return self._index[rank]


@dataclass
class StrangeValues:
    """Values of the devices that are not those of the program, and the first of them: those with other operands."""

    arrays: dict[SSAValue, DeviceArray | None] = field(default_factory=dict[SSAValue, DeviceArray | None])
    first: list[SSAValue] = field(default_factory=list[SSAValue])
    _count: int = 0

    def add(self, value: SSAValue, array: DeviceArray, *, has_inner: bool) -> None:
        """Add the result of an op, which is not a first one if the op has inner ops: these have run before."""
        if value in self.arrays:
            return
        if not has_inner and not any(operand in self.arrays for operand in _op_of(value).operands):
            self.first.append(value)
        self._count += array.array.size
        self.arrays[value] = array if self._count <= MOST_ELEMENTS else None


class DeviceValues:
    """The strange values of a run on all devices.

    In `computed`, those of ops that only move elements are left out if they are known: halos that are put together
    need not be in place.
    """

    def __init__(self, program: ProgramValues) -> None:
        self.program = program
        self.computed, self.all = StrangeValues(), StrangeValues()
        self._entered: set[Operation | None] = set()

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Look at the results of an op. Ops in the body of a reduction have no devices, and are skipped."""
        grid = context.grid
        if grid is None or len(results) != len(op.results):
            return
        self._entered.add(op.parent_op())
        has_inner = op in self._entered or isinstance(op, CallOp)
        for value, array in zip(op.results, results, strict=True):
            parts = _parts(array)
            if not all(map(self.program.are_known, parts)):
                kinds = (self.computed, self.all)
            elif not all(self.program.has_window(block) for part in parts for block in _blocks(part, grid.rank)):
                kinds = (self.all,) if moves_elements(op) or is_grouped(op) else (self.computed, self.all)
            else:
                continue
            for kind in kinds:
                kind.add(value, DeviceArray(array, grid), has_inner=has_inner)


def _parts(array: Array) -> tuple[Residues, ...]:
    """Return the numbers of a field, or integers, of which large ones are nearly unique too."""
    if is_field(array.dtype):
        return parts_of(array)
    return (array.astype(np.float64),) if is_integer(array.dtype) else ()


def _blocks(array: Residues, rank: int) -> Iterator[Residues]:
    """Yield what each device holds."""
    return (array[place] for place in np.ndindex(*array.shape[:rank]))


class Missing(NamedTuple):
    """A combination of devices over some axes that is missing: for a mean, a sum that is divided by the `divisor`."""

    kind: ReductionKind
    axes: tuple[str, ...]
    divisor: int = 1

    def __str__(self) -> str:
        listed = ", ".join(f'"{name}"' for name in self.axes)
        return f"the {NAMES[self.kind] if self.divisor == 1 else 'mean'} over {listed} is missing"

    def emitted(self, emit: Emitter, value: SSAValue, mesh: Mesh) -> SSAValue:
        """Return the combined value of numbers of a field."""
        common = CommonMesh(mesh, mesh)
        total = all_reduce(emit, value, tuple(map(AxisRef, self.axes)), common, self.kind)
        if self.divisor == 1:
            return total
        divisor = emit.constant(TensorType(f32, []), [float(self.divisor)])
        divisor = emit.broadcast(emit.convert(divisor, tensor_of(value).element_type), tensor_of(value))
        return emit.binary(DivideOp, total, divisor)


class Suspect(NamedTuple):
    """A value at which the programs may part, and the combination that makes it one of the program, if any does."""

    value: SSAValue
    missing: Missing | None

    def diagnostic(self) -> Diagnostic:
        """Return what is said of it. A combination that is named was tried: with it, all results are right."""
        collective, op = _receiving(self.value), _op_of(self.value)
        # A collective that combines completes partial results, which no value of the program equals.
        if collective is not None and (self.missing is not None or collective.regions):
            op = collective
        message = f"the programs part here: {op.name} has a value that the original program does not have"
        if self.missing is None:
            return Diagnostic(PARTS, message, span_of(op))
        return Diagnostic(PARTS, f"{message}; {self.missing}", span_of(op), hint="with it, all results agree")

    def is_in(self, local: ModuleOp) -> bool:
        """Return whether a module computes the value: a fragment is a module of its own."""
        return _op_of(self.value).get_toplevel_object() is local

    def mended(self, local: ModuleOp, mesh: Mesh) -> ModuleOp:
        """Return a copy of the local program with the combination."""
        assert self.missing is not None
        copies: dict[SSAValue, SSAValue] = {}
        copy = copy_with_regions(local, copies)
        value = copies[self.value]
        op = _op_of(value)
        following = op.next_op
        assert following is not None  # a terminator has no results
        uses = tuple(value.uses)
        combined = self.missing.emitted(Emitter(following, Style()), value, mesh)
        value.replace_uses_with_if(combined, lambda use: use in uses)
        return copy


def parting_at(op: Operation) -> Diagnostic:
    """Return the diagnostic for an op whose result is wrong, though its operands are right."""
    return Diagnostic(
        PARTS, f"the programs part here: {op.name} has another value than in the original program", span_of(op)
    )


def suspects(values: DeviceValues, main: FuncOp, wrong: Sequence[int], mesh: Mesh, field: Field) -> Iterator[Suspect]:
    """Yield where the programs may part, given which results of `main` differ: first ones, then others to be mended."""
    returned = terminator_of(main.body).operands
    outputs = {returned[index] for index in wrong}

    def leading(strange: StrangeValues, candidates: Iterable[SSAValue]) -> Iterator[Suspect]:
        for value in candidates:
            if _leads_to(value, strange.arrays, outputs, main):
                array = strange.arrays[value]
                yield Suspect(value, None if array is None else missing(array, mesh, values.program, field))

    for strange in (values.computed, values.all):
        yield from islice(leading(strange, strange.first), 1)
    yield from (each for each in leading(values.all, values.all.arrays) if each.missing is not None)


def _op_of(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _leads_to(value: SSAValue, strange: Collection[SSAValue], outputs: set[SSAValue], main: FuncOp) -> bool:
    """Return whether outputs follow from a value by strange values only."""
    return any(each in outputs or _is_returned(each, main) for each in _followed(value, strange))


def _followed(value: SSAValue, strange: Collection[SSAValue]) -> Iterator[SSAValue]:
    """Yield a strange value and those that follow from it by strange values."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        yield current
        for use in current.uses:
            above = use.operation.parent_op() if is_terminator(use.operation) else use.operation
            results = () if above is None or isinstance(above, FuncOp) else above.results
            fresh = [each for each in results if each in strange and each not in seen]
            seen.update(fresh)
            pending += fresh


def _is_returned(value: SSAValue, main: FuncOp) -> bool:
    """Return whether a function that others call returns a value: its uses are not followed further."""
    users = [use.operation for use in value.uses if is_terminator(use.operation)]
    return any(isinstance(above := user.parent_op(), FuncOp) and above is not main for user in users)


def _receiving(value: SSAValue) -> Operation | None:
    """Return the first collective that gets a value, or a rearranged one."""
    for use in value.uses:
        op = use.operation
        found = op if is_grouped(op) else _receiving(op.results[0]) if moves_elements(op) else None
        if found is not None:
            return found
    return None


@np.errstate(all="ignore")  # as in a run
def missing(value: DeviceArray, mesh: Mesh, program: ProgramValues, field: Field) -> Missing | None:
    """Return which combination over which axes makes a value known; None if none does."""
    grid = grid_of_mesh(mesh)
    if not is_field(value.array.dtype) or {*value.grid.ids.flat} != {*grid.ids.flat}:
        return None  # a value of a fragment has the devices of its own mesh
    held = regridded(value, grid)
    names = [axis.name for axis in mesh.axes]
    for chosen in (each for count in range(1, len(names) + 1) for each in combinations(names, count)):
        axes = tuple(axis for name in chosen for axis in axes_of_ref(grid, AxisRef(name), mesh))
        sizes = [grid.sizes[axis] if axis in axes else size for axis, size in enumerate(held.array.shape)]
        if prod(sizes) > MOST_ELEMENTS:
            continue
        full = np.broadcast_to(held.array, sizes)
        for kind in NAMES:
            combined = FieldFold(field, COMBINER_OF_KIND[kind]).reduced(full, axes)
            if all(map(program.are_known, _parts(combined))):
                return Missing(kind, chosen)
            count = prod(grid.sizes[axis] for axis in axes)
            if kind is ReductionKind.SUM and all(map(program.are_known, _parts(_divided(field, combined, count)))):
                return Missing(kind, chosen, count)
    return None


def _divided(field: Field, numbers: Array, count: int) -> Array:
    return functions.divide(
        field, numbers, of_parts(np.array(float(count)), *(np.zeros(()),) * (len(_parts(numbers)) - 1))
    )
