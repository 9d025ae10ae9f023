"""Whether lists of axis refs fit a mesh, each and all together.

Source: docs/spec/01, 4.3. The letters A1 to A10 number its rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, AxisRef, SubAxis, can_merge
from sdy.model.axis_on_mesh import mesh_order_key
from sdy.model.mesh import Mesh


@dataclass(slots=True)
class AxisUse:
    """The axis refs used so far by one sharding, or by one collective, on a mesh."""

    mesh: Mesh
    seen: set[AxisRef] = field(default_factory=set[AxisRef])
    sub_axes: dict[str, list[SubAxis]] = field(default_factory=dict[str, list[SubAxis]])

    def add(self, axes: AxisList) -> Diagnostic | None:
        """A1 to A3: the axes exist, are new, and adjacent sub-axes are written as one. Counts them as used."""
        previous: AxisRef | None = None
        for ref in axes:
            if not self.mesh.has_axis(ref.name):
                return unknown_axis(ref, self.mesh)
            if ref in self.seen:
                return Diagnostic("SDY-S202", f"the axis {ref} is used twice")
            if previous is not None and can_merge(previous, ref):
                return _unmerged(previous, ref)
            self.seen.add(ref)
            if ref.sub_axis is not None:
                self.sub_axes.setdefault(ref.name, []).append(ref.sub_axis)
            previous = ref
        return None

    def add_sorted(self, axes: AxisList) -> Diagnostic | None:
        """A4: the list is in mesh order. Then as `add`."""
        for left, right in pairwise(axes):
            if mesh_order_key(left, self.mesh) > mesh_order_key(right, self.mesh):
                return Diagnostic("SDY-S204", f"the axis {right} comes after {left}, against the order of the mesh")
        return self.add(axes)

    def check_sub_axes(self) -> Diagnostic | None:
        """A5 to A10, for every axis used in parts: the parts fit the axis and are disjoint."""
        for name, sub_axes in self.sub_axes.items():
            problem = self._check_parts(name, sorted(sub_axes))
            if problem is not None:
                return problem
        return None

    def _check_parts(self, name: str, sub_axes: list[SubAxis]) -> Diagnostic | None:
        if AxisRef(name) in self.seen:
            part = AxisRef(name, sub_axes[0])
            return Diagnostic("SDY-S205", f'the axis "{name}" is used in whole and in part, as {part}')
        end = 1
        for sub_axis in sub_axes:
            problem = _check_part(AxisRef(name, sub_axis), sub_axis, self.mesh.axis_size(name))
            if problem is not None:
                return problem
            if end > sub_axis.pre_size:
                return Diagnostic(
                    "SDY-S210", f"the sub-axis {AxisRef(name, sub_axis)} overlaps one that reaches up to {end}"
                )
            end = sub_axis.end
        return None


def unknown_axis(ref: AxisRef, mesh: Mesh) -> Diagnostic:
    """A1: the mesh has no such axis."""
    axes = ", ".join(f'"{axis.name}"={axis.size}' for axis in mesh.axes)
    return Diagnostic(
        "SDY-S201", f'the mesh has no axis "{ref.name}"', hint=f"its axes: {axes}" if axes else "the mesh has no axes"
    )


def _unmerged(major: AxisRef, minor: AxisRef) -> Diagnostic:
    return Diagnostic(
        "SDY-S203", f"the sub-axes {major} and {minor} follow each other", hint="write them as one longer sub-axis"
    )


def _check_part(ref: AxisRef, sub_axis: SubAxis, axis_size: int) -> Diagnostic | None:
    """A6 to A9: one sub-axis against the size of its axis."""
    if sub_axis.pre_size < 1:
        return Diagnostic("SDY-S206", f"the sub-axis {ref} has the pre-size {sub_axis.pre_size}, below 1")
    if sub_axis.size <= 1:
        return Diagnostic("SDY-S207", f"the sub-axis {ref} has the size {sub_axis.size}, below 2")
    if axis_size % sub_axis.end:
        message = f"the sub-axis {ref} reaches up to {sub_axis.end}, which does not divide the axis size {axis_size}"
        return Diagnostic("SDY-S208", message)
    if sub_axis.size == axis_size:
        return Diagnostic("SDY-S209", f"the sub-axis {ref} is the whole axis", hint=f'write "{ref.name}"')
    return None
