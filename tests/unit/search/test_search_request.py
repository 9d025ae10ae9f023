"""The options of a search as users write them."""

from __future__ import annotations

import pytest

import sdy
from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import SdyError
from sdy.search.search_request import Goal, meshes_of_devices, search_request

MACHINE = HARDWARE["tpu_v5e"]


def test_options_become_a_request() -> None:
    request = search_request(MACHINE, "data=16, model=4", memory="14GB", minimize="bytes", fix={"x": "P('data')"})
    assert [(axis.name, axis.size) for axis in request.meshes[0].axes] == [("data", 16), ("model", 4)]
    assert (request.free_bytes, request.goal, request.fixed) == (14e9, Goal.BYTES, {"x": "P('data')"})
    assert search_request(MACHINE).meshes == ()
    assert search_request(MACHINE).free_bytes == MACHINE.hbm_bytes


def test_all_meshes_of_64_devices() -> None:
    sizes = ["x".join(str(axis.size) for axis in mesh.axes) for mesh in meshes_of_devices(64)]
    assert sizes == ["64", "32x2", "16x4", "8x8", "16x2x2", "8x4x2", "4x4x4"]
    assert [mesh.device_count for mesh in meshes_of_devices(12)] == [12] * 4


def test_meshes_have_the_names_of_the_users_axes_first() -> None:
    request = search_request(MACHINE, devices=8, axis_names=("fsdp", "y"))
    assert [str(mesh) for mesh in request.meshes] == [
        '<["fsdp"=8]>',
        '<["fsdp"=4, "y"=2]>',
        '<["fsdp"=2, "y"=2, "x"=2]>',
    ]


def test_a_search_for_devices_keeps_the_names_of_axes() -> None:
    text = """
    sdy.mesh @m = <["data"=4]>
    func.func @main(%a: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@m, [{"data"}, {}]>})
        -> tensor<4096x4096xf32> {
      %0 = stablehlo.dot %a, %a : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      return %0 : tensor<4096x4096xf32>
    }"""
    plan = sdy.Program.from_text(text).search(devices=2, time_limit=5)
    assert [axis.name for axis in plan.mesh.axes] == ["data"]


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        ({"mesh": "data"}, "expected axes such as data=16,model=4, got 'data'", "SDY-P101"),
        ({"mesh": "data=2,model"}, "got 'data=2,model'", "SDY-P101"),
        ({"mesh": "data=2,data=4"}, 'mesh has two axes named "data"', "SDY-S104"),
        ({"mesh": "<[]>"}, "expected at least one axis, got '<[]>'", "SDY-T252"),
        ({"mesh": "data=2", "devices": 2}, "mesh and devices exclude each other", "SDY-T252"),
        ({"devices": 1}, "expected at least 2, got 1", "SDY-T252"),
        ({"memory": "14 apples"}, "memory: expected a number of bytes", "SDY-T252"),
        ({"minimize": "money"}, "expected one of time, bytes, memory, got 'money'", "SDY-T252"),
    ],
)
def test_a_wrong_option_is_one_diagnostic(options: dict[str, object], message: str, code: str) -> None:
    with pytest.raises(SdyError) as caught:
        search_request(MACHINE, **options)  # pyright: ignore[reportArgumentType]
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message
