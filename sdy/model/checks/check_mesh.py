"""Checks of meshes. Source: docs/spec/01, 4.1 (M1 to M6)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.mesh import MeshAxis


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
