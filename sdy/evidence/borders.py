"""Borders: values of a local program that are shards of values of the program, from which a proof goes on.

A proof ends at an op without a lemma. Where what follows from it is again the shard of some value of the program, as
arguments are, the proof goes on from there. One run in reduced sizes finds such values; a verification with them as
further results checks them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, SSAValue

from sdy.compile.compiled import Compiled
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.evidence.proof.prove import Border
from sdy.evidence.runs.draws import Draws
from sdy.evidence.runs.exact import ExactRuns, compared
from sdy.evidence.sizes.reduce_sizes import ReducedPrograms
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import equal_elements, is_field, parts_of
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.field.numbers import Field
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.sharding_update import closed_on

MOST_AXES = 3  # along which a dim of a border is sharded


class Borders:
    """The main functions of a program and of its local program, and both in reduced sizes."""

    def __init__(self, program: Compiled[Any], small: ReducedPrograms) -> None:
        self._program, self._small = program, small
        self._smaller = {
            **_counterparts(main_block(program.written), main_block(small.written)),
            **_counterparts(main_block(program.local), main_block(small.local)),
        }

    def found(self, values: Sequence[SSAValue]) -> list[Border]:
        """Return those of some values of the local program that are shards of a value of the program in one draw."""
        others = [each for each in _values_of(main_block(self._program.written)) if _is_comparable(each)]
        values = [each for each in values if _is_comparable(each)]
        both = self._returning(others, values)
        program = replace(
            self._program, written=both.written, folded=both.written, local=both.local, boundary=both.boundary
        )
        draw = Draws(program.written, seed=0).draw(0)
        expected, results = ExactRuns(program).results(draw)
        alike: dict[Hashable, list[tuple[SSAValue, Array]]] = {}
        for other, array in zip(others, expected[len(expected) - len(others) :], strict=True):
            alike.setdefault(_kind(other, array), []).append((other, array))
        borders = (
            self._border(value, result, alike.get(_kind(value, result.array[(0,) * result.grid.rank]), ()), draw.field)
            for value, result in zip(values, results[len(results) - len(values) :], strict=True)
        )
        return [each for each in borders if each is not None]

    def checked(self, borders: Sequence[Border]) -> ReducedPrograms:
        """Return the programs in reduced sizes with borders as further results, which are to be shards as these say."""
        both = self._returning([each.of for each in borders], [each.value for each in borders])
        placements = [self._small_placement(each) for each in borders]
        return replace(both, boundary=replace(both.boundary, results=(*both.boundary.results, *placements)))

    def _returning(self, others: Sequence[SSAValue], values: Sequence[SSAValue]) -> ReducedPrograms:
        small = self._small
        written = _returning(small.written, [self._smaller[each] for each in others])
        return replace(small, written=written, local=_returning(small.local, [self._smaller[each] for each in values]))

    def _border(
        self, value: SSAValue, result: DeviceArray, alike: Sequence[tuple[SSAValue, Array]], field: Field
    ) -> Border | None:
        """Return the first value of the program of which a result of all devices is a shard, with its placement."""
        first = result.array[(0,) * result.grid.rank]
        for other, array in alike:
            if not _is_start(first, array):
                continue
            for placement in _placements(other, value, self._program.boundary):
                border = Border(value, other, placement)
                small = self._small_placement(border)
                if _extents(small) != result.local_shape:
                    continue
                found = compared(0, result, small, array, field)
                if found.agrees and not found.is_hidden:
                    return border
        return None

    def _small_placement(self, border: Border) -> TensorPlacement:
        shape = static_shape(self._smaller[border.of].type)
        assert shape is not None
        return replace(border.placement, shape=shape, mesh=self._small.boundary.mesh)


def _returning(module: ModuleOp, values: Sequence[SSAValue]) -> ModuleOp:
    """Return a copy of a module whose main function returns further values."""
    copies: dict[SSAValue, SSAValue] = {}
    copy = copy_with_regions(module, copies)
    main = main_function(copy)
    terminator = terminator_of(main.body)
    terminator.operands = [*terminator.operands, *(copies[each] for each in values)]
    types = [each.type for each in terminator.operands]
    main.function_type = FunctionType.from_lists(main.function_type.inputs.data, types)
    main.res_attrs = None
    return copy


def _counterparts(block: Block, other: Block) -> dict[SSAValue, SSAValue]:
    """Return the values of a copy of a block with other sizes, by the values of the block."""
    return dict(zip(_values_of(block), _values_of(other), strict=True))


def _values_of(block: Block) -> list[SSAValue]:
    return [*block.args, *(each for op in block.ops for each in op.results)]


def _is_comparable(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    return shape is not None and 0 not in shape


def _kind(value: SSAValue, array: Array) -> Hashable:
    """Return what a value and its shards have in common: the type, the number of dims, and the first element."""
    tensor = as_tensor(value.type)
    assert tensor is not None  # it is comparable
    parts = parts_of(array) if is_field(array.dtype) else (array,)
    first = (part.flat[0].item() for part in parts)
    return tensor.element_type, array.ndim, *(None if each != each else each for each in first)  # NaN equals NaN


def _is_start(first: Array, array: Array) -> bool:
    """Return whether the elements of the first device are those that a value starts with, but for padding."""
    both = tuple(slice(min(sizes)) for sizes in zip(first.shape, array.shape, strict=True))
    return bool(np.all(equal_elements(first[both], array[both])))


def _placements(other: SSAValue, value: SSAValue, boundary: ProgramPlacement) -> Iterator[TensorPlacement]:
    """Yield the placements of a value of the program of which another value has the shape of a shard."""
    whole, shard, mesh = static_shape(other.type), static_shape(value.type), boundary.mesh
    assert whole is not None
    assert shard is not None
    lists = _axis_lists(boundary)
    choices = [
        [axes for axes in lists if -(-size // sharded_size(axes, mesh)) == extent]
        for size, extent in zip(whole, shard, strict=True)
    ]
    for chosen in product(*choices):
        names = [name for axes in chosen for name in {ref.name for ref in axes}]
        if len(names) == len(set(names)):
            yield TensorPlacement(whole, closed_on(mesh, chosen), mesh)


def _axis_lists(boundary: ProgramPlacement) -> Collection[AxisList]:
    """Return the axes along which a dim may be sharded: those of arguments and results, and any few whole axes."""
    refs = [AxisRef(axis.name) for axis in boundary.mesh.axes if axis.size > 1]
    shardings = [each.sharding for each in (*boundary.arguments, *boundary.results)]
    listed = (dim.axes for sharding in shardings for dim in sharding.dims)
    orders = (order for count in range(1 + min(MOST_AXES, len(refs))) for order in permutations(refs, count))
    return dict.fromkeys((*orders, *listed))


def _extents(placement: TensorPlacement) -> tuple[int, ...]:
    """Return the shape of a shard."""
    pairs = zip(placement.shape, placement.sharding.dims, strict=True)
    return tuple(-(-size // sharded_size(dim.axes, placement.mesh)) for size, dim in pairs)
