"""`sdy calibrate`: what it finds again in times that a machine predicts, what it refuses, and times of this machine."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from sdy.cost.hardware import Hardware, Switch
from sdy.cost.machines.calibration import calibrated, errors_of, read_measurements
from sdy.cost.machines.file import machine_toml, read_hardware
from sdy.cost.machines.table import HARDWARE
from sdy.tools.main import main

COLUMNS = "devices,collective,bytes,op,m,n,k,dtype,operand_bytes,seconds"
SIZES = [1 << power for power in range(10, 31, 4)]
TIMING = Path(__file__).parents[2] / "benchmarks" / "time_devices.py"
CHIP = """
hbm_bytes = "16GB"
hbm_bandwidth = "100GB/s"
[switch]
node_size = 64
node_bandwidth = "20GB/s"
network_bandwidth = "1GB/s"
[rates]
bits16 = 1e12
"""


def text_of(hardware: Hardware) -> str:
    """Return a CSV of the times that a machine is predicted to take."""
    lines = [COLUMNS]
    for size in SIZES:
        lines += [f"8,{kind},{size},,,,,,,1" for kind in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")]
        lines += [f"64,all_gather,{size},,,,,,,1"]
        lines += [f",,,{op},,,,,{size},1" for op in ("copy", "triad", "dot")]
    lines += [f",,,matmul,{side},{side},{side},bfloat16,,1" for side in (256, 1024, 4096)]
    rows = read_measurements("\n".join(lines), "rows.csv")
    times = [each.predicted(hardware) for each in rows]
    return "\n".join([COLUMNS, *(f"{line[:-1]}{time}" for line, time in zip(lines[1:], times, strict=True))])


@pytest.mark.parametrize("name", ["h100", "a100", "mi300x", "tpu_v5p", "tpu_v6e"])
def test_a_machine_is_found_again_in_its_own_times(name: str) -> None:
    truth = HARDWARE[name]
    rows = read_measurements(text_of(truth), "rows.csv")
    begun = replace(truth, kernels=replace(truth.kernels, hbm_efficiency=0.3, matrix_efficiency=0.2))
    found = calibrated(begun, rows)
    assert found.kernels.hbm_efficiency == pytest.approx(truth.kernels.hbm_efficiency, rel=0.05)
    assert found.kernels.matrix_efficiency == pytest.approx(truth.kernels.matrix_efficiency, rel=0.05)
    assert all(each.median < 0.02 for each in errors_of(found, rows))


def test_what_no_row_tells_stays_as_it_is() -> None:
    truth = HARDWARE["h100"]
    rows = [each for each in read_measurements(text_of(truth), "rows.csv") if each.kind == "collectives"]
    assert isinstance(truth.network, Switch)
    begun = replace(truth, network=replace(truth.network, efficiency=0.4, reduction_bandwidth=1e11))
    found = calibrated(begun, rows)
    assert found.kernels == truth.kernels
    assert isinstance(found.network, Switch)
    assert found.network.efficiency == pytest.approx(truth.network.efficiency, rel=0.03)
    assert found.network.reduction_bandwidth == pytest.approx(truth.network.reduction_bandwidth, rel=0.1)
    assert found.network.node_bandwidth == truth.network.node_bandwidth


def test_a_few_outliers_do_not_pull_the_fit_away() -> None:
    truth = HARDWARE["h100"]
    rows = [each for each in read_measurements(text_of(truth), "rows.csv") if each.kind == "copies"]
    rows[-1] = replace(rows[-1], seconds=20 * rows[-1].seconds)
    found = calibrated(replace(truth, kernels=replace(truth.kernels, hbm_efficiency=0.5)), rows)
    assert found.kernels.hbm_efficiency == pytest.approx(truth.kernels.hbm_efficiency, rel=0.1)


@pytest.mark.parametrize("name", list(HARDWARE))
def test_a_machine_is_written_as_it_is_read(name: str) -> None:
    machine = HARDWARE[name]
    found = read_hardware(machine_toml(machine, ["fitted"]), "chip.toml")
    assert found == replace(machine, name="chip.toml", error=0.0)


def test_the_command_prints_errors_before_and_after_and_writes_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, output = tmp_path / "rows.csv", tmp_path / "mine.toml"
    rows.write_text(text_of(HARDWARE["h200"]), encoding="utf-8")
    assert main(["calibrate", str(rows), "--on", "h100", "--output", str(output)]) == 0
    out = capsys.readouterr().out
    assert {"copies", "products", "collectives"} <= set(out.replace("│", " ").split())
    assert "# h100, fitted by sdy calibrate" in output.read_text(encoding="utf-8")
    assert main(["calibrate", str(rows), "--on", str(output)]) == 0


@pytest.mark.parametrize(
    ("row", "message", "caret"),
    [
        (",,,matmul,8,8,8,float3,,1", "dtype: expected one of float64", "float3"),
        ("8,all_gathr,64,,,,,,,1", "collective: expected one of all_gather", "all_gathr"),
        ("8,all_gather,many,,,,,,,1", "bytes: expected a number from 0, got 'many'", "many"),
        ("1,all_gather,64,,,,,,,1", "devices: expected a number from 2, got '1'", "1"),
        (",,,copy,,,,,64,0", "seconds: expected a number from 1e-12, got '0'", "0"),
        (",,,copy,,,,,64,nan", "seconds: expected a number from 1e-12, got 'nan'", "nan"),
        (",,,flash,,,,,64,1", "op: expected one of matmul, copy", "flash"),
        (",,,,,,,,64,1", "op: expected one of matmul, copy", ",,,,,,,,64,1"),
    ],
)
def test_a_wrong_cell_is_one_diagnostic(
    row: str, message: str, caret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(f"{COLUMNS}\n{row}\n", encoding="utf-8")
    assert main(["calibrate", str(rows), "--on", "h100"]) == 2
    text = capsys.readouterr().err
    assert "rows.csv:2:" in text
    assert message in text
    assert "[SDY-T233]" in text
    assert "^" * len(caret) in text


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("", [], "has no measurements"),
        (f"{COLUMNS}\n", [], "has no measurements"),
        ("op,seconds\ncopy,1\n", [], "the row has no column 'operand_bytes'"),
        (f"machine,{COLUMNS}\na,,,,copy,,,,,64,1\nb,,,,copy,,,,,64,1\n", [], "no measurement is of h100, but of a, b"),
    ],
)
def test_a_file_without_usable_rows_is_refused(
    text: str, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(text, encoding="utf-8")
    assert main(["calibrate", str(rows), "--on", "h100", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_data_sheet_that_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, chip = tmp_path / "rows.csv", tmp_path / "chip.toml"
    rows.write_text(text_of(HARDWARE["h100"]), encoding="utf-8")
    chip.write_text(CHIP, encoding="utf-8")
    assert main(["calibrate", str(rows), "--on", str(chip)]) == 2
    text = capsys.readouterr().err
    assert "[SDY-T234]" in text
    assert "half of them are off by more than 50%" in text


def test_files_and_a_machine_are_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate"]) == 2
    assert main(["calibrate", "missing.csv", "--on", "h100"]) == 2
    text = capsys.readouterr().err
    assert "sdy calibrate requires files and --on MACHINE" in text
    assert "cannot read missing.csv" in text


def test_the_devices_at_hand_are_measured_and_a_machine_is_fitted_to_them(tmp_path: Path) -> None:
    rows, chip = tmp_path / "rows.csv", tmp_path / "chip.toml"
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(TIMING), str(rows), "--most-bytes", "300000"]
    subprocess.run(command, check=True, env=environment)
    found = list(csv.DictReader(StringIO(rows.read_text(encoding="utf-8"))))
    assert {each["op"] for each in found} == {"copy", "add", "triad", "dot", "matmul", ""}
    assert {each["collective"] for each in found} == {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", ""}
    chip.write_text(CHIP, encoding="utf-8")
    begun = read_hardware(CHIP, "chip.toml")
    measured = read_measurements(rows.read_text(encoding="utf-8"), str(rows))
    before, after = errors_of(begun, measured), errors_of(calibrated(begun, measured), measured)
    assert all(new.median < old.median for old, new in zip(before, after, strict=True))
