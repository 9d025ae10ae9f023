"""Checks of meshes, and that lists of axis refs fit a mesh, each list alone and all together.

Source: docs/spec/01, 4.1 (M1 to M6) and 4.3, whose rules the letters A1 to A10 number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, AxisRef, SubAxis, can_merge
from sdy.model.axis_on_mesh import mesh_order_key
from sdy.model.checks.first_problem import Problems, first_problem
from sdy.model.mesh import Mesh, MeshAxis


def check_mesh_axis(axis: MeshAxis) -> Diagnostic | None:
    """Check M1: an axis has at least one device."""
    if axis.size >= 1:
        return None
    return Diagnostic("SDY-S101", f'mesh axis "{axis.name}" must have a size of at least 1, got {axis.size}')


@first_problem
def check_mesh(axes: Sequence[MeshAxis], device_ids: Sequence[int]) -> Problems:
    """Check M2 to M6: the axes have distinct names, and explicit device ids list every device once.

    A mesh without axes has at most one device id (M3).
    """
    for device in device_ids:
        if device < 0:
            yield Diagnostic("SDY-S102", f"device ids must not be negative, got {device}")
    if not axes and len(device_ids) > 1:
        message = f"a mesh without axes must have at most one device id, got {len(device_ids)}"
        hint = "add an axis, or list a single device id for a mesh of that device alone"
        yield Diagnostic("SDY-S103", message, hint=hint)
    names = [axis.name for axis in axes]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Diagnostic("SDY-S104", f'mesh has two axes named "{name}"')
    if axes and device_ids:
        yield from _check_device_ids(device_ids, prod(axis.size for axis in axes))


def _check_device_ids(device_ids: Sequence[int], count: int) -> Problems:
    if len(device_ids) != count:
        yield Diagnostic("SDY-S105", f"expected {count} device ids, one per device, got {len(device_ids)}")
    for index, device in enumerate(sorted(device_ids)):
        if device != index:
            message = f"expected each device id from 0 to {count - 1} once; in ascending order, {device} is unexpected"
            yield Diagnostic("SDY-S106", message)


class AxisUse:
    """The axis refs that one sharding, or one collective, has used so far on a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.seen: dict[AxisRef, str] = {}  # and where each is used
        self.sub_axes: dict[str, list[SubAxis]] = {}

    def add(self, axes: AxisList, where: str = "") -> Problems:
        """Check A1 to A3 and record the axes as used: they exist, are new, and adjacent sub-axes are merged.

        `where` says in messages where they are used, such as `dim 0`.
        """
        previous: AxisRef | None = None
        for ref in axes:
            if not self.mesh.has_axis(ref.name):
                yield unknown_axis(ref, self.mesh)
            if ref in self.seen:
                yield Diagnostic("SDY-S202", f"axis {ref} is used twice{_in_both(self.seen[ref], where)}")
            if previous is not None and can_merge(previous, ref):
                message = f"sub-axes {previous} and {ref} are adjacent"
                yield Diagnostic("SDY-S203", message, hint="write them as one longer sub-axis")
            self.seen[ref] = where
            if ref.sub_axis is not None:
                self.sub_axes.setdefault(ref.name, []).append(ref.sub_axis)
            previous = ref

    def add_sorted(self, axes: AxisList, where: str = "") -> Problems:
        """Check A4, that the list is in mesh order, then check and record it as `add` does."""
        for left, right in pairwise(axes):
            if mesh_order_key(left, self.mesh) > mesh_order_key(right, self.mesh):
                yield Diagnostic("SDY-S204", f"expected axes in mesh order, got {right} after {left}")
        yield from self.add(axes, where)

    def check_sub_axes(self) -> Problems:
        """Check A5 to A10 for every axis used through sub-axes: these fit the axis and are disjoint."""
        for name, sub_axes in self.sub_axes.items():
            refs = [AxisRef(name, sub_axis) for sub_axis in sorted(sub_axes)]
            if AxisRef(name) in self.seen:
                yield Diagnostic("SDY-S205", f'axis "{name}" is used both as a full axis and as sub-axis {refs[0]}')
            end = 1
            for ref, sub_axis in zip(refs, sorted(sub_axes), strict=True):
                yield from _check_sub_axis(ref, sub_axis, self.mesh.axis_size(name))
                if end > sub_axis.pre_size:
                    yield Diagnostic("SDY-S210", f"sub-axis {ref} overlaps a sub-axis that ends at {end}")
                end = sub_axis.end


@first_problem
def check_group_axes(axes: AxisList, mesh: Mesh) -> Problems:
    """Check that groups of devices differ along axes of the mesh that do not overlap; they may be adjacent."""
    use = AxisUse(mesh)
    yield from (each for each in use.add(axes) if each.code != "SDY-S203")
    yield from use.check_sub_axes()


def _in_both(first: str, second: str) -> str:
    """Return where the two uses of an axis are, as the end of a message."""
    if not first or not second:
        return ""
    return f" in {first}" if first == second else f", in {first} and in {second}"


def unknown_axis(ref: AxisRef, mesh: Mesh) -> Diagnostic:
    """Return the diagnostic of A1: the mesh has no such axis."""
    axes = ", ".join(f'"{axis.name}"={axis.size}' for axis in mesh.axes)
    return Diagnostic(
        "SDY-S201",
        f'the mesh has no axis "{ref.name}"',
        hint=f"axes of the mesh: {axes}" if axes else "the mesh has no axes",
    )


def _check_sub_axis(ref: AxisRef, sub_axis: SubAxis, axis_size: int) -> Problems:
    """Check A6 to A9: one sub-axis against the size of its axis."""
    if sub_axis.pre_size < 1:
        yield Diagnostic("SDY-S206", f"sub-axis {ref} must have a pre-size of at least 1, got {sub_axis.pre_size}")
    if sub_axis.size <= 1:
        yield Diagnostic("SDY-S207", f"sub-axis {ref} must have a size of at least 2, got {sub_axis.size}")
    if axis_size % sub_axis.end:
        message = f"sub-axis {ref} ends at {sub_axis.end}, which does not divide the axis size {axis_size}"
        yield Diagnostic("SDY-S208", message)
    if sub_axis.size == axis_size:
        yield Diagnostic("SDY-S209", f"sub-axis {ref} covers the full axis", hint=f'write "{ref.name}"')
