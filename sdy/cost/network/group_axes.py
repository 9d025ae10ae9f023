"""The mesh axes along which the devices of a collective communicate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sdy.cost.device_groups import DeviceGroup
from sdy.model.axis import AxisList
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digit_of, mesh_digits


class GroupAxes:
    """Finds the axes of `mesh` in which the devices of a group differ."""

    def __init__(self, mesh: Mesh) -> None:
        self.digits = {ref: digit_of(ref, mesh) for ref in mesh_digits(mesh)}  # major first
        self._mesh = mesh
        self._varying: dict[tuple[DeviceGroup, ...], AxisList] = {}

    @cached_property
    def positions(self) -> dict[int, int]:
        """The position of each device in the mesh."""
        return {device: position for position, device in enumerate(self._mesh.listed_devices())}

    def axes_of(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """Return the mesh axes along which members of a group differ, major first, with adjacent sub-axes merged."""
        return extended((), self.varying_digits(groups), self._mesh)

    def varying_digits(self, groups: Sequence[DeviceGroup]) -> AxisList:
        """Return the digits in which the members of some group differ, major first."""
        key = tuple(groups)
        if key not in self._varying:  # most collectives of a program have one of a few lists of groups
            self._varying[key] = self._compute_varying_digits(groups)
        return self._varying[key]

    def _compute_varying_digits(self, groups: Sequence[DeviceGroup]) -> AxisList:
        groups_of_positions = [[self.positions[device] for device in group] for group in groups]
        return tuple(
            ref
            for ref, digit in self.digits.items()
            if any(len(set(map(digit.of, group))) > 1 for group in groups_of_positions)
        )
