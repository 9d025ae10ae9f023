"""A mesh whose axes are the sub-axes of another mesh, for code that supports full axes only."""

from __future__ import annotations

from collections.abc import Iterable

from sdy.model.axis import AxisList, AxisRef, contains
from sdy.model.axis_on_mesh import ordered_refs
from sdy.model.mesh import Mesh, MeshAxis


def split_mesh(mesh: Mesh, refs: Iterable[AxisRef]) -> tuple[Mesh, AxisList]:
    """Return the mesh with axes split as finely as `refs` need, and the ref to `mesh` that each new axis stands for.

    The order of devices stays. An axis that is not split keeps its name; a sub-axis is named as it is written.

    >>> from sdy.model.axis import SubAxis
    >>> mesh, digits = split_mesh(Mesh((MeshAxis("x", 8),)), [AxisRef("x", SubAxis(2, 2))])
    >>> [(axis.name, axis.size) for axis in mesh.axes]
    [('x:(1)2', 2), ('x:(2)2', 2), ('x:(4)2', 2)]
    """
    digits = ordered_refs(refs, mesh)
    axes = tuple(MeshAxis(_name(digit), mesh.size_of(digit)) for digit in digits)
    return Mesh(axes, mesh.device_ids), digits


def names_on_split_mesh(ref: AxisRef, digits: AxisList) -> tuple[str, ...]:
    """Return the axes of a split mesh that `ref` stands for, major first."""
    return tuple(_name(digit) for digit in digits if contains(ref, digit))


def _name(digit: AxisRef) -> str:
    return digit.name if digit.sub_axis is None else f"{digit.name}:{digit.sub_axis}"
