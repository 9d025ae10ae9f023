"""The first op at which a local program parts from the program that it stands for.

Numbers drawn from a large field are nearly unique, so that values are compared without names, places or shardings. A
value of the devices is *known* if each of its elements occurs in some value of the program, and *in place* if the
elements of each device are a window of such a value. Partial sums and rearrangements are neither, but lead to values
that are: so an op is blamed if its operands are known, its result is not, and no value between it and the results is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.facts.traits import is_terminator, moves_elements, terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.collectives import is_grouped
from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp, MinimumOp
from sdy.interpreter.arrays.element_types import Array, is_integer
from sdy.interpreter.arrays.field_types import Residues, is_field, parts_of
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh

PARTS = "SDY-V006"
MOST_ELEMENTS = 30_000_000  # of the values of the program, which are kept
MOST_WINDOWS = 16  # places of one element that are looked at
LEAST_UNUSUAL = 2.0**20  # smaller residues occur in many values
# The combinations that are tried: those of the collectives that a partitioner inserts.
COMBINATIONS: dict[str, type[Operation]] = {"sum": AddOp, "maximum": MaximumOp, "minimum": MinimumOp}


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

    values: set[SSAValue] = field(default_factory=set[SSAValue])
    first: dict[SSAValue, DeviceArray] = field(default_factory=dict[SSAValue, DeviceArray])

    def add(self, value: SSAValue, array: DeviceArray, *, has_inner: bool) -> None:
        """Add the result of an op, which is not a first one if the op has inner ops: these have run before."""
        if value not in self.values:
            if not has_inner and not any(operand in self.values for operand in _op_of(value).operands):
                self.first[value] = array
            self.values.add(value)


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


def parting(values: DeviceValues, main: FuncOp, wrong: Sequence[int], mesh: Mesh, field: Field) -> Diagnostic | None:
    """Return at which op the programs part, given which results of `main` differ; None if no value tells."""
    returned = terminator_of(main.body).operands
    outputs = {returned[index] for index in wrong}
    for strange in (values.computed, values.all):
        first = next((value for value in strange.first if _leads_to(value, strange.values, outputs, main)), None)
        if first is None:
            continue
        cause = missing_collective(strange.first[first], mesh, values.program, field)
        collective = _receiving(first)
        # A collective that combines completes partial results, which no value of the program equals.
        op = collective if collective is not None and (cause or collective.regions) else _op_of(first)
        message = f"the programs part here: {op.name} has a value that the original program does not have"
        return Diagnostic(PARTS, f"{message}; {cause}" if cause else message, span_of(op))
    return None


def _op_of(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _leads_to(value: SSAValue, strange: set[SSAValue], outputs: set[SSAValue], main: FuncOp) -> bool:
    """Return whether outputs follow from a value by strange values only."""
    return any(each in outputs or _is_returned(each, main) for each in _followed(value, strange))


def _followed(value: SSAValue, strange: set[SSAValue]) -> Iterator[SSAValue]:
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


def missing_collective(value: DeviceArray, mesh: Mesh, program: ProgramValues, field: Field) -> str:
    """Return which combination over which axes makes a value known: `the sum over "x" is missing`; "" if none does."""
    grid = grid_of_mesh(mesh)
    held = regridded(value, grid)
    if not is_field(held.array.dtype):
        return ""
    names = [axis.name for axis in mesh.axes]
    for chosen in (each for count in range(1, len(names) + 1) for each in combinations(names, count)):
        axes = tuple(axis for name in chosen for axis in axes_of_ref(grid, AxisRef(name), mesh))
        sizes = [grid.sizes[axis] if axis in axes else size for axis, size in enumerate(held.array.shape)]
        if prod(sizes) > MOST_ELEMENTS:
            continue
        full = np.broadcast_to(held.array, sizes)
        for text, op_class in COMBINATIONS.items():
            if all(map(program.are_known, _parts(FieldFold(field, op_class).reduced(full, axes)))):
                listed = ", ".join(f'"{name}"' for name in chosen)
                return f"the {text} over {listed} is missing"
    return ""
