"""A mesh is arithmetic: only what enumerates its devices is limited in their number."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.model.axis import AxisRef
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.devices.tiling import mesh_reversed_along, shard_coordinates, shift_pairs
from sdy.model.mesh import Mesh, MeshAxis

HUGE = Mesh((MeshAxis("x", 10**6), MeshAxis("y", 10**6)))
ALONG_X = (AxisRef("x"),)


def test_devices_of_a_huge_mesh() -> None:
    devices = HUGE.devices()
    assert HUGE.device_count == len(devices) == 10**12
    assert devices[10**11] == 10**11


@pytest.mark.parametrize(
    "enumerate_devices",
    [
        HUGE.listed_devices,
        lambda: shard_coordinates(ALONG_X, HUGE),
        lambda: replica_groups(ALONG_X, HUGE),
        lambda: shift_pairs(ALONG_X, HUGE, 1),
        lambda: mesh_reversed_along(ALONG_X, HUGE),
    ],
)
def test_devices_are_listed_up_to_a_limit(enumerate_devices: object) -> None:
    assert callable(enumerate_devices)
    with pytest.raises(SdyError) as caught:
        enumerate_devices()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-L019"
    assert "1000000000000" in diagnostic.message
