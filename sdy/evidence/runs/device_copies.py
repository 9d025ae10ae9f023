"""The number of different copies of each value of a local program that the devices hold.

A run on all devices stores a value once for all devices that hold equal copies. A value varies along the axes of the
grid along which its operands vary; a collective that gathers or sums makes it equal within its groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.random import RngOp
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.replica_groups import AxisGroups, grid_for, layout_of
from sdy.interpreter.ops.collectives import groups_in, groups_of
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement

Axes = frozenset[int]  # of the grid
# Ops whose results may differ between devices though their operands do not.
VARYING = (ops.PartitionIdOp, ops.ReplicaIdOp, ops.CollectivePermuteOp, RngOp)


class DeviceCopies:
    """Counts the different copies of the values of a local program. Counts are upper bounds."""

    def __init__(self, local: ModuleOp, boundary: ProgramPlacement) -> None:
        refs = [ref for each in boundary.arguments for ref in each.sharding.axis_refs()]
        try:
            grid = grid_of_mesh(boundary.mesh, refs)
        except ValueError:
            grid = grid_of_mesh(boundary.mesh)
        self._grid = grid_for(grid, groups_in(local))
        self._all: Axes = frozenset(range(self._grid.rank))
        self._functions = functions_of(local)
        self._varying: dict[SSAValue, Axes] = {}
        self._calls: dict[tuple[str, tuple[Axes, ...]], tuple[Axes, ...]] = {}
        main = main_function(local)
        self._block(main.body.block, [self._of_placement(each) for each in boundary.arguments])

    def count(self, value: SSAValue) -> int:
        """Return the number of different copies of a value."""
        return prod(self._grid.sizes[axis] for axis in self._varying.get(value, self._all))

    def _of_placement(self, placement: TensorPlacement) -> Axes:
        axes: set[int] = set()
        for ref in placement.sharding.axis_refs():
            try:
                axes.update(axes_of_ref(self._grid, ref, placement.mesh))
            except (KeyError, ValueError):
                return self._all
        return frozenset(axes)

    def _block(self, block: Block, arguments: Sequence[Axes]) -> tuple[Axes, ...]:
        """Note the axes of all values in a block, and return those of the operands of its terminator."""
        for value, axes in zip(block.args, arguments, strict=True):
            self._add(value, axes)
        found: tuple[Axes, ...] = ()
        for op in block.ops:
            found = tuple(self._varying.get(each, self._all) for each in op.operands)
            for value, axes in zip(op.results, self._of_results(op, found), strict=True):
                self._add(value, axes)
        return found

    def _add(self, value: SSAValue, axes: Axes) -> None:
        self._varying[value] = self._varying.get(value, frozenset()) | axes

    def _of_results(self, op: Operation, operands: tuple[Axes, ...]) -> Sequence[Axes]:
        count = len(op.results)
        if isinstance(op, CallOp):
            key = (op.callee.string_value(), operands)
            if key not in self._calls:
                self._calls[key] = (self._all,) * count  # ends the recursion of a function that calls itself
                self._calls[key] = self._block(self._functions[key[0]].body.block, operands)
            return self._calls[key]
        axes = frozenset[int]().union(*operands)
        if ops.is_grouped(op):
            return (self._after(op, axes),) * count
        if isinstance(op, VARYING):
            return (self._all,) * count
        return (self._with_regions(op, axes) if op.regions else axes,) * count

    def _after(self, op: ops.GroupedOp, axes: Axes) -> Axes:
        """Return the axes along which the results of a collective vary."""
        try:
            layout = layout_of(groups_of(op), self._grid)
        except SdyError:
            return self._all
        if not isinstance(layout, AxisGroups):
            return self._all
        is_equal = isinstance(op, ops.AllGatherOp | ops.AllReduceOp | ops.CrossReplicaSumOp)
        return axes - set(layout.axes) if is_equal else axes | set(layout.axes)

    def _with_regions(self, op: Operation, axes: Axes) -> Axes:
        """Return the axes of all values inside of an op: those of everything that its regions read."""
        inner = [nested for nested in op.walk() if nested is not op]
        if any(isinstance(each, (*VARYING, CallOp)) for each in inner):
            axes = self._all
        axes = axes.union(*(self._varying.get(each, frozenset()) for nested in inner for each in nested.operands))
        for nested in op.walk():
            values = [*nested.results, *(arg for region in nested.regions for b in region.blocks for arg in b.args)]
            for value in values if nested is not op else values[len(op.results) :]:
                self._add(value, axes)
        return axes
