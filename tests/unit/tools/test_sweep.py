"""`sdy sweep`: prices meshes in parallel processes, prints a table, and writes a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sdy
from sdy.tools.main import main

EXAMPLE = Path(sdy.__file__).parent / "examples" / "matmul_case3.mlir"
PROGRAM = """
func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
"""


def test_all_meshes_are_priced_as_annotated_and_as_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    command = ["sweep", str(EXAMPLE), "--devices", "4", "--processes", "2", "--time-limit", "2", "--json"]
    assert main([*command, "-o", str(page)]) == 0
    data = json.loads(capsys.readouterr().out)
    found = sorted((each["shardings"], each["mesh"]) for each in data["points"])
    (mesh,) = {tuple(part.partition("=")[0] for part in text.split(",")) for kind, text in found if kind == "annotated"}
    assert [text for kind, text in found if kind == "searched"] == ["x=2,y=2", "x=4"]
    assert [text for kind, text in found if kind == "annotated"] == [
        f"{mesh[0]}={first},{mesh[1]}={4 // first}" for first in (1, 2, 4)
    ]
    assert all(each["problem"] is None for each in data["points"])
    assert any(each["is_pareto"] for each in data["points"])
    assert "<svg" in page.read_text()


def test_points_cost_what_a_search_and_a_program_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    assert main(["sweep", str(path), "--devices", "2", "--on", "h100", "--time-limit", "5", "--json"]) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    plan = sdy.load(path).search(mesh="x=2", on="h100", time_limit=5)
    assert point["cost"]["seconds"] == pytest.approx(plan.cost.seconds_in_turn)
    assert point["cost"]["peak_bytes"] == plan.cost.peak_bytes


MANUAL = """\
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"}
      (%b: tensor<4x8xf32>) {
    sdy.return %b : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
WITH_DEVICE_ID = MANUAL.replace("    sdy.return", "    %i = stablehlo.partition_id : tensor<ui32>\n    sdy.return")


@pytest.mark.parametrize(
    ("text", "devices", "meshes", "sizes"),
    [
        (MANUAL, 4, ["x=2,y=2"], '"x"=2'),
        (MANUAL, 8, ["x=2,y=4"], '"x"=2'),
        (WITH_DEVICE_ID, 4, ["x=2,y=2"], '"x"=2, "y"=2'),
    ],
)
def test_a_manual_computation_is_priced_on_its_meshes_with_one_warning(
    text: str, devices: int, meshes: list[str], sizes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    assert main(["sweep", str(path), "--devices", str(devices), "--json"]) == 0
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert [each["mesh"] for each in data["points"]] == meshes
    assert data["points"][0]["problem"] is None
    assert data["limit"].startswith(f"sdy.manual_computation is written for {sizes}, so only such meshes are priced")
    assert f"{path}:3:8: warning: {data['limit']} [SDY-T251]\n" in printed.err
    assert printed.err.count("SDY-T251") == 1


def test_a_program_that_runs_on_no_mesh_of_the_devices_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    for text, sizes, hint in (
        (MANUAL, '"x"=2', "a multiple of 2 devices"),
        (WITH_DEVICE_ID, '"x"=2, "y"=2', "4 devices"),
    ):
        path.write_text(text)
        assert main(["sweep", str(path), "--devices", "3"]) == 2
        error = capsys.readouterr().err
        message = f"sdy.manual_computation is written for {sizes}, which no mesh of 3 devices has [SDY-T251]"
        assert f"{path}:3:8: error: {message}\n" in error
        assert f"hint: give {hint}, or lower" in error


def test_a_program_with_collectives_is_priced_on_all_meshes_but_not_searched() -> None:
    gather = '%0 = sdy.all_gather [{}, {"y"}] %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>'
    argument = '%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}'
    header = f"func.func @main({argument}) -> tensor<8x8xf32>"
    text = f'sdy.mesh @m = <["x"=2, "y"=2]>\n{header} {{\n  {gather}\n  return %0 : tensor<8x8xf32>\n}}'
    found = sdy.sweep(sdy.Program.from_text(text), 4)
    assert sorted(each.mesh for each in found.points) == ["x=1,y=4", "x=2,y=2", "x=4,y=1"]
    assert found.limit is not None
    assert found.limit.message in found.report(200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--devices", "1"], "devices: expected at least 2, got 1"),
        (["--devices", "2", "--on", "tpu_v9"], "unknown hardware tpu_v9"),
        (["--devices", "2", "--memory", "much"], "memory: expected a number of bytes"),
        ([], "--devices"),
    ],
)
def test_wrong_options_are_one_diagnostic(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(EXAMPLE), *options]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("error:") == 1


def test_an_interrupt_returns_the_points_that_are_done() -> None:
    def interrupted(done: int, total: int) -> None:
        assert total > 1
        raise KeyboardInterrupt

    found = sdy.sweep(sdy.Program.from_text(PROGRAM), 8, time_limit=1, processes=1, progress=interrupted)
    assert not found.is_complete
    assert 1 <= len(found.points) < 3
