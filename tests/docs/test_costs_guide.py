"""The table of machines in docs/costs.md matches the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sdy.cost.hardware import Switch, Torus
from sdy.cost.machines.file import read_hardware
from sdy.cost.machines.table import HARDWARE

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "costs.md").read_text()
ROWS = {line.split("|")[1].strip(): line for line in GUIDE.splitlines() if line.startswith("| ")}


@pytest.mark.parametrize("name", HARDWARE)
def test_the_table_of_machines_holds_their_numbers(name: str) -> None:
    machine = HARDWARE[name]
    network = machine.network
    _, _, links, link, hbm, rate, _ = (cell.strip() for cell in ROWS[name].split("|"))
    if isinstance(network, Torus):
        assert links == f"torus of {network.axis_count} axes, rings in multiples of {network.wrap_multiple}"
        assert link == f"{network.link_bandwidth / 1e9:g} GB/s"
    else:
        between = f"{network.network_bandwidth / 1e9:g} GB/s a device between nodes"
        assert links == f"nodes of {network.node_size} with a switch, {between}"
        assert link == f"{network.node_bandwidth / 1e9:g} GB/s"
    assert hbm == f"{machine.hbm_bytes / 1e9:g} GB at {machine.hbm_bandwidth / 1e12:g} TB/s"
    assert rate == f"{machine.rates.bits16 / 1e12:g} TFLOP/s"


def test_every_machine_of_the_table_is_known() -> None:
    named = [name for name in ROWS if re.fullmatch(r"(tpu_?)?[a-z]*\d+[a-z]?", name)]
    assert sorted(named) == sorted(HARDWARE)


def test_the_file_of_a_machine_describes_tpu_v5p() -> None:
    first, _ = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    machine, known = read_hardware(first, "tpu_v5p"), HARDWARE["tpu_v5p"].ideal("tpu")
    assert machine.rates == known.rates
    assert isinstance(machine.network, Torus)
    assert isinstance(known.network, Torus)
    assert machine.network.link_bandwidth == known.network.link_bandwidth
    assert machine.kernels == known.kernels


def test_the_measured_keys_of_a_machine_are_those_of_the_table() -> None:
    first, measured = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    pattern = re.compile(r"^\[(\w+)\][^\n]*\n(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
    tables = dict(pattern.findall(measured))
    text = first.replace("[torus]\n", f"[torus]\n{tables['torus']}") + f"[kernels]\n{tables['kernels']}"
    machine = read_hardware(text, "v5e")
    assert machine.kernels == HARDWARE["tpu_v5e"].kernels
    assert isinstance(machine.network, Torus)
    known = HARDWARE["tpu_v5e"].network
    assert isinstance(known, Torus)
    assert (machine.network.start_seconds, machine.network.efficiency, machine.network.pod_size) == (
        known.start_seconds,
        known.efficiency,
        known.pod_size,
    )
    switch = f"{tables['switch']}node_size = 8\nnode_bandwidth = 450e9\nnetwork_bandwidth = 50e9\n"
    base = 'hbm_bytes = "80GB"\nhbm_bandwidth = "3TB/s"\n[rates]\nbits16 = 990e12\n'
    found = read_hardware(base + "[switch]\n" + switch, "h100").network
    assert isinstance(found, Switch)
    assert isinstance(h100 := HARDWARE["h100"].network, Switch)
    assert (found.reduction_bandwidth, found.ramp_bytes) == (h100.reduction_bandwidth, h100.ramp_bytes)
