"""The table of machines in docs/costs.md matches the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sdy.cost.hardware import Torus
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
    assert network.hop_seconds == pytest.approx(1e-6)


def test_every_machine_of_the_table_is_known() -> None:
    named = [name for name in ROWS if re.fullmatch(r"(tpu_)?[a-z]+\d+[a-z]?", name)]
    assert sorted(named) == sorted(HARDWARE)


def test_the_file_of_a_machine_describes_tpu_v5p() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert read_hardware(text, "tpu_v5p") == HARDWARE["tpu_v5p"]
