"""The first op at which a local program parts from the program that it stands for.

Numbers drawn from a large field are nearly unique, so that values are compared without names, places or shardings. A
value of the devices is *known* if each of its elements occurs in some value of the program. Partial sums are not, but
lead to values that are: so an op is blamed if its operands are known, its result is not, and no value between it and
the results is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.facts.traits import is_terminator, moves_elements, terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import reached
from sdy.dialects.stablehlo.collectives import is_grouped
from sdy.dialects.stablehlo.elementwise import DivideOp
from sdy.evidence.runs.lockstep import MOST_ELEMENTS, RunValues
from sdy.interpreter.arrays.element_types import Array, is_integer
from sdy.interpreter.arrays.field_types import Residues, is_field, of_parts, parts_of
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.field import functions
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding import ReductionKind
from sdy.partitioner.emit.collective_ops import all_reduce
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND

PARTS = "SDY-V006"
LEAST_UNUSUAL = 2.0**20  # smaller residues occur in many values
# The combinations that are tried: those of the collectives that a partitioner inserts.
NAMES = {ReductionKind.SUM: "sum", ReductionKind.MAX: "maximum", ReductionKind.MIN: "minimum"}


class KnownNumbers:
    """The numbers that a run of the program has; small ones, which occur in many values, tell nothing."""

    def __init__(self, arrays: Iterable[Array]) -> None:
        unusual = [_unusual(part) for array in arrays for part in _parts(array)]
        self._sorted = np.unique(np.concatenate([np.zeros(1), *unusual]))

    def has(self, array: Array) -> bool:
        """Return whether all numbers of an array are known."""
        numbers = np.unique(np.concatenate([np.zeros(1), *map(_unusual, _parts(array))]))
        places = np.minimum(np.searchsorted(self._sorted, numbers), len(self._sorted) - 1)
        return bool((self._sorted[places] == numbers).all())


def _unusual(numbers: Residues) -> Residues:
    return numbers[np.isfinite(numbers) & (np.abs(numbers) >= LEAST_UNUSUAL)]


def _parts(array: Array) -> tuple[Residues, ...]:
    """Return the numbers of a field, or integers, of which large ones are nearly unique too."""
    if is_field(array.dtype):
        return parts_of(array)
    return (array.astype(np.float64),) if is_integer(array.dtype) else ()


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


def suspects(
    known: KnownNumbers, devices: RunValues, main: FuncOp, wrong: Sequence[int], mesh: Mesh, field: Field
) -> Iterator[Suspect]:
    """Yield where the programs may part, given which results of `main` differ.

    These are values with numbers that the program does not have, from which such results follow by other such values:
    the first one, and those that a combination mends.
    """
    returned = terminator_of(main.body).operands
    outputs = {returned[index] for index in wrong}
    strange = {value: held for value, held in devices.arrays.items() if not known.has(held.array)}
    leading = [value for value in strange if _leads_to(value, strange, outputs, main)]
    for number, value in enumerate(leading):
        found = missing(strange[value], mesh, known, field)
        if found is not None or number == 0:
            yield Suspect(value, found)


def _op_of(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _leads_to(value: SSAValue, strange: Collection[SSAValue], outputs: set[SSAValue], main: FuncOp) -> bool:
    """Return whether outputs follow from a value by strange values only."""
    return any(each in outputs or _is_returned(each, main) for each in _followed(value, strange))


def _followed(value: SSAValue, strange: Collection[SSAValue]) -> Iterator[SSAValue]:
    """Yield a strange value and those that follow from it by strange values."""

    def following(current: SSAValue) -> Iterator[SSAValue]:
        for use in current.uses:
            above = use.operation.parent_op() if is_terminator(use.operation) else use.operation
            results = () if above is None or isinstance(above, FuncOp) else above.results
            yield from (each for each in results if each in strange)

    return reached([value], following)


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
def missing(value: DeviceArray, mesh: Mesh, known: KnownNumbers, field: Field) -> Missing | None:
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
            if known.has(combined):
                return Missing(kind, chosen)
            count = prod(grid.sizes[axis] for axis in axes)
            if kind is ReductionKind.SUM and known.has(_divided(field, combined, count)):
                return Missing(kind, chosen, count)
    return None


def _divided(field: Field, numbers: Array, count: int) -> Array:
    return functions.divide(
        field, numbers, of_parts(np.array(float(count)), *(np.zeros(()),) * (len(_parts(numbers)) - 1))
    )
