"""Machines from TOML files: their numbers, and one diagnostic for a wrong entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sdy.cost.hardware import Kernels, Switch, Torus
from sdy.cost.machines.file import read_hardware, resolve_hardware
from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import SdyError

V5P = """
hbm_bytes = "96GB"
hbm_bandwidth = "2.8TB/s"

[torus]
axes = 3
link_bandwidth = "90GB/s"
wrap_multiple = 4

[rates]
bits16 = 459e12
int8 = 918e12
"""
SWITCHED = """
hbm_bytes = 80e9
hbm_bandwidth = 3.4e12
switch = {node_size = 8, node_bandwidth = 450e9, network_bandwidth = "50GB/s", hop_seconds = 2e-6}
rates = {bits16 = 990e12}
"""


def test_a_file_holds_the_numbers_of_a_machine() -> None:
    known = HARDWARE["tpu_v5p"].ideal("tpu")
    assert isinstance(known.network, Torus)
    network = replace(known.network, pod_size=0, network_bandwidth=0.0)
    expected = replace(
        known, name="chip.toml", network=network, hbm_bytes=96e9, hbm_bandwidth=2.8e12, host_bandwidth=0.0, error=0.0
    )
    assert read_hardware(V5P, "chip.toml") == expected


MEASURED = (
    V5P
    + """
[kernels]
fusion = "tpu"
start_seconds = 2e-6
hbm_efficiency = 0.9
matrix_efficiency = 0.8
grouped_efficiency = 0.5
float4_efficiency = 0.75
float4_start_seconds = 1e-5
unhidden = 0.25
tile = [8, 128, 128]
tile_units = 2
attention = [0.5, 0.4]
pipelines_loops = true
unrolls_loops = true
decomposes_products = true
gather_efficiency = 0.2
"""
)


def test_a_file_holds_what_kernels_and_collectives_reach() -> None:
    text = MEASURED.replace(
        "wrap_multiple = 4", "wrap_multiple = 4\nstart_seconds = 1e-5\nefficiency = 0.8\npod_size = 64"
    )
    machine = read_hardware('host_bandwidth = "15GB/s"' + text, "chip.toml")
    assert machine.kernels == Kernels(
        "tpu",
        start_seconds=2e-6,
        hbm_efficiency=0.9,
        matrix_efficiency=0.8,
        grouped_efficiency=0.5,
        float4_efficiency=0.75,
        float4_start_seconds=1e-5,
        unhidden=0.25,
        tile=(8, 128, 128),
        tile_units=2,
        attention=(0.5, 0.4),
        pipelines_loops=True,
        unrolls_loops=True,
        decomposes_products=True,
        gather_efficiency=0.2,
    )
    assert isinstance(machine.network, Torus)
    assert (machine.network.start_seconds, machine.network.efficiency, machine.network.pod_size) == (1e-5, 0.8, 64)
    assert machine.host_bandwidth == 15e9


def test_a_machine_with_a_switch_and_one_rate() -> None:
    machine = read_hardware(SWITCHED, "chip.toml")
    assert machine.network == Switch(8, 4.5e11, 5e10, 2e-6)
    assert {machine.rates.int8, machine.rates.float8, machine.rates.bits16, machine.rates.bits32} == {990e12}


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        (V5P.replace("hbm_bytes", "hbm_byte"), "unknown key 'hbm_byte'", (2, 1)),
        (
            V5P.replace('"96GB"', '"96GX"'),
            "hbm_bytes: expected a number of bytes such as 300e6 or 16GB, got 96GX",
            (2, 1),
        ),
        (V5P.replace("axes = 3", "axes = 0"), "torus.axes: expected a positive integer, got 0", (6, 1)),
        (
            V5P.replace("bits16 = 459e12", "bits16 = true"),
            "rates.bits16: expected a positive number, got True",
            (11, 1),
        ),
        (V5P.replace("wrap_multiple = 4", ""), "missing key 'torus.wrap_multiple'", (5, 1)),
        (V5P.replace('hbm_bandwidth = "2.8TB/s"', ""), "missing key 'hbm_bandwidth'", (1, 1)),
        (V5P.replace("[torus]", "[ring]"), "unknown key 'ring'", (5, 1)),
        (SWITCHED + V5P[V5P.index("[torus]") : V5P.index("[rates]")], "expected one of the tables", (1, 1)),
        (V5P + "[kernels]\ntile = [8, 128]\n", "kernels.tile: expected a list of 3 numbers, got [8, 128]", (14, 1)),
        (
            V5P + "[kernels]\nfusion = 'xla'\n",
            "kernels.fusion: expected one of none, eager, cpu, gpu, tpu, got xla",
            (14, 1),
        ),
        (V5P + "[kernels]\nunhidden = 1.5\n", "kernels.unhidden: expected a number from 0 to 1, got 1.5", (14, 1)),
        ("hbm_bytes = ", "cannot read chip.toml: Invalid value (at end of document)", None),
        ("", "missing key 'hbm_bytes'", None),
    ],
)
def test_a_wrong_entry_is_one_diagnostic_at_its_line(text: str, message: str, at: tuple[int, int] | None) -> None:
    with pytest.raises(SdyError) as caught:
        read_hardware(text, "chip.toml")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-T230"
    assert message in diagnostic.message
    assert (None if diagnostic.span is None else (diagnostic.span.line, diagnostic.span.column)) == at


def test_a_path_is_read_and_a_missing_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    file.write_text(V5P)
    assert resolve_hardware(file) == resolve_hardware(str(file)) == read_hardware(V5P, str(file))
    with pytest.raises(SdyError, match=r"none\.toml: No such file or directory"):
        resolve_hardware(tmp_path / "none.toml")
