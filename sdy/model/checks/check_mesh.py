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
from sdy.model.mesh import Mesh, MeshAxis


def check_mesh_axis(axis: MeshAxis) -> Diagnostic | None:
    """Check M1: an axis has at least one device."""
    if axis.size >= 1:
        return None
    return Diagnostic("SDY-S101", f'mesh axis "{axis.name}" must have a size of at least 1, got {axis.size}')


def check_mesh(axes: Sequence[MeshAxis], device_ids: Sequence[int]) -> Diagnostic | None:
    """Check M2 to M6: the axes have distinct names, and explicit device ids list every device once."""
    negative = next((device for device in device_ids if device < 0), None)
    if negative is not None:
        return Diagnostic("SDY-S102", f"device ids must not be negative, got {negative}")
    if not axes:
        return _check_maximal(device_ids)
    names = [axis.name for axis in axes]
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        return Diagnostic("SDY-S104", f'mesh has two axes named "{repeated}"')
    return _check_device_ids(device_ids, prod(axis.size for axis in axes)) if device_ids else None


def _check_maximal(device_ids: Sequence[int]) -> Diagnostic | None:
    """Check M3: a mesh without axes has at most one device id."""
    if len(device_ids) <= 1:
        return None
    return Diagnostic(
        "SDY-S103",
        f"a mesh without axes must have at most one device id, got {len(device_ids)}",
        hint="add an axis, or list a single device id for a mesh of that device alone",
    )


def _check_device_ids(device_ids: Sequence[int], count: int) -> Diagnostic | None:
    if len(device_ids) != count:
        return Diagnostic("SDY-S105", f"expected {count} device ids, one per device, got {len(device_ids)}")
    unexpected = next((device for index, device in enumerate(sorted(device_ids)) if device != index), None)
    if unexpected is None:
        return None
    return Diagnostic(
        "SDY-S106",
        f"expected each device id from 0 to {count - 1} once; in ascending order, {unexpected} is unexpected",
    )


class AxisUse:
    """The axis refs that one sharding, or one collective, has used so far on a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.seen: dict[AxisRef, str] = {}  # and where each is used
        self.sub_axes: dict[str, list[SubAxis]] = {}

    def add(self, axes: AxisList, where: str = "") -> Diagnostic | None:
        """Check A1 to A3 and record the axes as used: they exist, are new, and adjacent sub-axes are merged.

        `where` says in messages where they are used, such as `dim 0`.
        """
        previous: AxisRef | None = None
        for ref in axes:
            if not self.mesh.has_axis(ref.name):
                return unknown_axis(ref, self.mesh)
            if ref in self.seen:
                return Diagnostic("SDY-S202", f"axis {ref} is used twice{_in_both(self.seen[ref], where)}")
            if previous is not None and can_merge(previous, ref):
                return _unmerged(previous, ref)
            self.seen[ref] = where
            if ref.sub_axis is not None:
                self.sub_axes.setdefault(ref.name, []).append(ref.sub_axis)
            previous = ref
        return None

    def add_sorted(self, axes: AxisList, where: str = "") -> Diagnostic | None:
        """Check A4, that the list is in mesh order, then check and record it as `add` does."""
        for left, right in pairwise(axes):
            if mesh_order_key(left, self.mesh) > mesh_order_key(right, self.mesh):
                return Diagnostic("SDY-S204", f"expected axes in mesh order, got {right} after {left}")
        return self.add(axes, where)

    def check_sub_axes(self) -> Diagnostic | None:
        """Check A5 to A10 for every axis used through sub-axes: these fit the axis and are disjoint."""
        for name, sub_axes in self.sub_axes.items():
            problem = self._check_sub_axes_of(name, sorted(sub_axes))
            if problem is not None:
                return problem
        return None

    def _check_sub_axes_of(self, name: str, sub_axes: list[SubAxis]) -> Diagnostic | None:
        if AxisRef(name) in self.seen:
            sub_axis_ref = AxisRef(name, sub_axes[0])
            return Diagnostic("SDY-S205", f'axis "{name}" is used both as a full axis and as sub-axis {sub_axis_ref}')
        end = 1
        for sub_axis in sub_axes:
            problem = _check_sub_axis(AxisRef(name, sub_axis), sub_axis, self.mesh.axis_size(name))
            if problem is not None:
                return problem
            if end > sub_axis.pre_size:
                return Diagnostic(
                    "SDY-S210", f"sub-axis {AxisRef(name, sub_axis)} overlaps a sub-axis that ends at {end}"
                )
            end = sub_axis.end
        return None


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


def _unmerged(major: AxisRef, minor: AxisRef) -> Diagnostic:
    return Diagnostic(
        "SDY-S203", f"sub-axes {major} and {minor} are adjacent", hint="write them as one longer sub-axis"
    )


def _check_sub_axis(ref: AxisRef, sub_axis: SubAxis, axis_size: int) -> Diagnostic | None:
    """Check A6 to A9: one sub-axis against the size of its axis."""
    if sub_axis.pre_size < 1:
        return Diagnostic("SDY-S206", f"sub-axis {ref} must have a pre-size of at least 1, got {sub_axis.pre_size}")
    if sub_axis.size <= 1:
        return Diagnostic("SDY-S207", f"sub-axis {ref} must have a size of at least 2, got {sub_axis.size}")
    if axis_size % sub_axis.end:
        message = f"sub-axis {ref} ends at {sub_axis.end}, which does not divide the axis size {axis_size}"
        return Diagnostic("SDY-S208", message)
    if sub_axis.size == axis_size:
        return Diagnostic("SDY-S209", f"sub-axis {ref} covers the full axis", hint=f'write "{ref.name}"')
    return None
