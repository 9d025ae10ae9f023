"""Arrays move between meshes of JAX devices by a collective-permute, as where processes have the devices."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from support.jax_programs.pipelined_step import all_devices

from sdy.diagnostics.diagnostic import SdyError
from sdy.jax.to_devices.transfer import transferred

pytestmark = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


def sharding(devices: slice, sizes: tuple[int, ...], *spec: str | None) -> NamedSharding:
    array = np.array(all_devices()[devices]).reshape(sizes)
    return NamedSharding(Mesh(array, ("x", "y")[: len(sizes)]), PartitionSpec(*spec))


@pytest.mark.parametrize("spec", [("x", None), (None, "y"), ("y", "x"), ()])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_every_shard_arrives(spec: tuple[str | None, ...], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(32).reshape(8, 4).astype(dtype)
    array = jax.device_put(values, sharding(slice(0, 4), (2, 2), "x", "y"))
    target = sharding(slice(4, 8), (2, 2), *spec)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    found = transferred(array, target)
    assert found.sharding == target
    assert found.dtype == values.dtype
    assert np.array_equal(np.asarray(found), values)


@pytest.mark.parametrize(("devices", "sizes"), [(slice(4, 6), (2, 1)), (slice(2, 6), (2, 2))])
def test_meshes_that_do_not_match(devices: slice, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    array = jax.device_put(np.arange(8), sharding(slice(0, 4), (2, 2), "x"))
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(SdyError) as raised:
        transferred(array, sharding(devices, sizes))
    assert raised.value.diagnostics[0].code == "SDY-X104"
    assert "use meshes of equal size" in str(raised.value)
