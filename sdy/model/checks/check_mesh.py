"""Whether a mesh is one. Source: docs/spec/01, 4.1 (M1 to M6)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.mesh import MeshAxis


def check_mesh_axis(axis: MeshAxis) -> Diagnostic | None:
    """M1: an axis has at least one device."""
    if axis.size >= 1:
        return None
    return Diagnostic(
        "SDY-S101", f'mesh axis "{axis.name}" has size {axis.size}', hint="the size of an axis is at least 1"
    )


def check_mesh(axes: Sequence[MeshAxis], device_ids: Sequence[int]) -> Diagnostic | None:
    """M2 to M6: the axes have names of their own, and explicit ids name every device once."""
    negative = next((device for device in device_ids if device < 0), None)
    if negative is not None:
        return Diagnostic("SDY-S102", f"device id {negative} is negative")
    if not axes:
        return _check_maximal(device_ids)
    names = [axis.name for axis in axes]
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        return Diagnostic("SDY-S104", f'two axes of the mesh are called "{repeated}"')
    return _check_device_ids(device_ids, prod(axis.size for axis in axes)) if device_ids else None


def _check_maximal(device_ids: Sequence[int]) -> Diagnostic | None:
    """M3: without axes there is one device at most."""
    if len(device_ids) <= 1:
        return None
    return Diagnostic(
        "SDY-S103",
        f"a mesh without axes has {len(device_ids)} device ids",
        hint="give it an axis, or one device id: then it is the mesh of that device alone",
    )


def _check_device_ids(device_ids: Sequence[int], count: int) -> Diagnostic | None:
    if len(device_ids) != count:
        return Diagnostic("SDY-S105", f"{len(device_ids)} device ids for a mesh of {count} devices")
    misfit = next((device for place, device in enumerate(sorted(device_ids)) if device != place), None)
    if misfit is None:
        return None
    return Diagnostic("SDY-S106", f"the device ids are not 0 to {count - 1}, each once: see {misfit}")
