"""The meshes that a sweep prices, and the op of the program that excludes others.

A manual computation is written for the sizes of its manual axes, and an op that contains device numbers for those of
all axes: the program is priced on meshes with these sizes only. No shardings are searched in a program with ops that
depend on the mesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.stablehlo.collectives import DeviceIdOp
from sdy.model.mesh import Mesh, MeshAxis
from sdy.program.program import Program
from sdy.report.sweep_points import Origin
from sdy.search.search_request import meshes_of_devices
from sdy.search.searched_module import first_op_that_depends_on_mesh, unsearchable

_DEVICE_NUMBERS = ("replica_groups", "source_target_pairs")


class SweptMeshes(NamedTuple):
    """The meshes of a sweep, as text, each with the origin of the shardings; a warning if the program excludes some."""

    cases: tuple[tuple[str, Origin], ...]
    limit: Diagnostic | None


class _FixedSizes(NamedTuple):
    """The sizes of axes that an op of the program is written for."""

    op: Operation
    axes: tuple[MeshAxis, ...]

    def __str__(self) -> str:
        return f"{self.op.name} is written for {', '.join(map(str, self.axes))}"


def swept_meshes(program: Program[Any], devices: int) -> SweptMeshes:
    """Return the meshes of `devices` devices on which a sweep prices a program.

    Raises: SdyError SDY-T251 if there is none, because the program has ops that depend on the mesh; SDY-T252 if there
    are fewer than two devices.
    """
    searched = [(mesh.axes_text(","), Origin.SEARCHED) for mesh in meshes_of_devices(devices)]
    mesh = _annotated_mesh(program)
    fixed = None if mesh is None else _fixed_sizes(program, mesh)
    annotated = [] if mesh is None else list(_resized(mesh, devices, fixed))
    dependent = first_op_that_depends_on_mesh(program.module)
    if dependent is None:
        return SweptMeshes((*((each, Origin.ANNOTATED) for each in annotated), *searched), None)
    if mesh is not None and fixed is not None and not annotated:
        raise SdyError(_no_mesh(fixed, mesh, devices))
    if not annotated:
        raise SdyError(unsearchable(dependent))
    return SweptMeshes(tuple((each, Origin.ANNOTATED) for each in annotated), _limit(dependent, fixed))


def _limit(dependent: Operation, fixed: _FixedSizes | None) -> Diagnostic:
    """Return the warning that no shardings are searched, and that the axes of the program do not get all sizes."""
    if fixed is None:
        message, hint = unsearchable(dependent).message, "without this op, other shardings are searched too"
    else:
        message = f"{fixed}, so only such meshes are priced, as annotated, and no other shardings are searched"
        hint = "for other sizes, lower the program again on their mesh"
    span = span_of(dependent if fixed is None else fixed.op)
    return Diagnostic("SDY-T251", message, span, hint, severity=Severity.WARNING)


def _no_mesh(fixed: _FixedSizes, mesh: Mesh, devices: int) -> Diagnostic:
    of = "" if len(fixed.axes) == len(mesh.axes) else "a multiple of "
    count = prod(axis.size for axis in fixed.axes)
    hint = f"give {of}{count} devices, or lower the program again on a mesh of {devices}"
    return Diagnostic("SDY-T251", f"{fixed}, which no mesh of {devices} devices has", span_of(fixed.op), hint)


def _fixed_sizes(program: Program[Any], mesh: Mesh) -> _FixedSizes | None:
    """Return the axes whose sizes the program is written for, and the first op with such an axis; None without any."""
    found: dict[str, Operation] = {}
    for op in pre_order(program.module):
        names: tuple[str, ...] = ()
        if isinstance(op, ManualComputationOp):
            names = op.manual_axes.data
        elif isinstance(op, DeviceIdOp) or any(
            isinstance(op.properties.get(name), DenseElementsAttr) for name in _DEVICE_NUMBERS
        ):
            names = tuple(axis.name for axis in mesh.axes)
        for name in names:
            found.setdefault(name, op)
    axes = tuple(axis for axis in mesh.axes if axis.name in found)
    return _FixedSizes(next(iter(found.values())), axes) if axes else None


def _annotated_mesh(program: Program[Any]) -> Mesh | None:
    """Return the mesh of a program if it has one mesh and annotations."""
    meshes = [mesh for mesh in meshes_of(program.module).values() if mesh.axes]
    return meshes[0] if len(meshes) == 1 and _has_annotations(program) else None


def _has_annotations(program: Program[Any]) -> bool:
    main = main_function(program.module)
    types = main.function_type
    arguments = (argument_sharding(main, index) for index in range(len(types.inputs)))
    results = (function_result_sharding(main, index) for index in range(len(types.outputs)))
    inside = (sharding_of(value) for op in program.module.walk() for value in op.results)
    has_op = any(isinstance(op, ShardingConstraintOp | ManualComputationOp) for op in program.module.walk())
    return has_op or any(each is not None for each in (*arguments, *results, *inside))


def _resized(mesh: Mesh, devices: int, fixed: _FixedSizes | None) -> Iterator[str]:
    """Yield the meshes of `devices` devices with the axes of a mesh, where fixed axes have their sizes."""
    required = {} if fixed is None else {axis.name: axis.size for axis in fixed.axes}
    names = [axis.name for axis in mesh.axes]
    for sizes in _ordered_factorizations(devices, len(names)):
        axes = tuple(MeshAxis(name, size) for name, size in zip(names, sizes, strict=True))
        if all(required.get(axis.name, axis.size) == axis.size for axis in axes):
            yield Mesh(axes).axes_text(",")


def _ordered_factorizations(count: int, length: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `length` sizes, each at least 1, whose product is `count`; the larger first sizes first."""
    if length == 1:
        yield (count,)
        return
    for first in range(count, 0, -1):
        if count % first == 0:
            yield from ((first, *rest) for rest in _ordered_factorizations(count // first, length - 1))
