"""`sdy cost`: numbers computed by hand, the examples, and invalid arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict, cast

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.cost.machines.table import HARDWARE
from sdy.cost.quantities import seconds_text
from sdy.tools.cost import parser
from sdy.tools.main import main

BATCH, DEPTH, HIDDEN = 128, 8192, 32768
WEIGHT_BYTES = DEPTH * HIDDEN * 2  # of each of two matrices: 537 MB
FREE = "300e6"

TWO_MATMULS = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%in: tensor<128x8192xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{batch}, {depth}]>}},
                %up: tensor<8192x32768xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{rows}, {columns}]>}},
                %down: tensor<32768x8192xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{columns}, {rows}]>}})
    -> (tensor<128x8192xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{batch}, {depth}]>}}) {{
  %0 = stablehlo.dot_general %in, %up, contracting_dims = [1] x [0]
      : (tensor<128x8192xbf16>, tensor<8192x32768xbf16>) -> tensor<128x32768xbf16>
  %1 = stablehlo.dot_general %0, %down, contracting_dims = [1] x [0]
      : (tensor<128x32768xbf16>, tensor<32768x8192xbf16>) -> tensor<128x8192xbf16>
  return %1 : tensor<128x8192xbf16>
}}
"""

REPLICATED = {"batch": "{}", "depth": "{}", "rows": "{}", "columns": "{}"}
LAYOUTS = {
    "replicated": REPLICATED,
    "batch": REPLICATED | {"batch": '{"x", "y"}'},
    "batch and weights": REPLICATED | {"batch": '{"x", "y"}', "columns": '{"x", "y"}'},
    "half of the hidden dim": REPLICATED | {"columns": '{"y"}'},
    "hidden": REPLICATED | {"columns": '{"x", "y"}'},
    "hidden, activations by depth": REPLICATED | {"depth": '{"x", "y"}', "columns": '{"x", "y"}'},
    "both dims of the weights": REPLICATED | {"depth": '{"x"}', "rows": '{"x"}', "columns": '{"y"}'},
}

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "costs.md").read_text()
SHOWN = {
    "batch over x and y": "batch",
    "hidden dim over y": "half of the hidden dim",
    "hidden dim over x and y": "hidden",
    "depth over x, hidden dim over y": "both dims of the weights",
}


class Cost(TypedDict):
    """The fields of the JSON output that the tests read."""

    fits: bool
    peak_bytes: int
    free_bytes: int
    compute_seconds: float
    op_seconds: float
    communication_seconds: float
    seconds: float
    seconds_overlapped: float
    seconds_in_turn: float
    collectives: list[dict[str, object]]


def _cost(capsys: pytest.CaptureFixture[str], *words: str) -> Cost:
    assert main(["cost", *words, "--json"]) == 0
    return cast(Cost, json.loads(capsys.readouterr().out))


def _costs_of_layouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    for name, layout in LAYOUTS.items():
        file = tmp_path / "two_matmuls.mlir"
        file.write_text(TWO_MATMULS.format(**layout))
        costs[name] = _cost(capsys, str(file), "--on", "tpu_v5e", "--free-bytes", FREE)
    return costs


def test_two_matmuls_on_2_by_2_fit_if_both_axes_shard_the_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = _costs_of_layouts(tmp_path, capsys)
    fitting = {name for name, cost in costs.items() if cost["fits"]}
    assert fitting == {"batch and weights", "hidden", "hidden, activations by depth", "both dims of the weights"}
    for name in fitting:  # 2 * 537 MB / 4, and a few activations of 2 MiB
        assert 2 * WEIGHT_BYTES / 4 < costs[name]["peak_bytes"] < 300e6
    assert costs["half of the hidden dim"]["peak_bytes"] > 2 * WEIGHT_BYTES / 2

    hidden = costs["hidden"]
    assert hidden["seconds_in_turn"] == min(cost["seconds_in_turn"] for cost in costs.values() if cost["fits"])
    assert hidden["seconds_in_turn"] < 0.85 * costs["both dims of the weights"]["seconds_in_turn"]
    compute = 4 * BATCH * DEPTH * HIDDEN / 4 / (0.95 * 1.97e14)  # 183 us: products reach 95 % of the rate
    assert hidden["compute_seconds"] == pytest.approx(compute, rel=0.02)
    # 39.3 us and 15 of latency: each device receives 3 / 4 over its two links, of which collectives reach 89 %.
    reduce = 2 * 3 / 4 * BATCH * DEPTH * 2 / (2 * 4.5e10 * 0.89) + 15e-6
    assert hidden["communication_seconds"] == pytest.approx(reduce, rel=0.02)
    weights = 2 * WEIGHT_BYTES / 4 / (0.87 * 8.1e11)  # 381 us: bound by memory, of which copies reach 87 %
    with_arithmetic = weights + 0.28 * compute  # what memory accesses do not hide
    assert with_arithmetic < hidden["op_seconds"] < 1.05 * with_arithmetic
    assert hidden["seconds_overlapped"] == hidden["op_seconds"] <= hidden["seconds"] <= hidden["seconds_in_turn"]
    rows = [line for line in GUIDE.splitlines() if " MB | " in line]
    assert rows == [_row(title, costs[layout]) for title, layout in SHOWN.items()]


def _row(title: str, cost: Cost) -> str:
    """Check the example of docs/costs.md."""
    sent = cost["communication_seconds"]
    cells = (
        title,
        f"{cost['peak_bytes'] / 1e6:,.0f} MB",
        "yes" if cost["fits"] else "no",
        seconds_text(cost["op_seconds"]),
        seconds_text(sent) if sent else "none",
        seconds_text(cost["seconds_in_turn"]),
    )
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("file", EXAMPLES, ids=EXAMPLE_NAMES)
@pytest.mark.parametrize("machine", HARDWARE)
def test_every_example_fits_on_every_machine(file: Path, machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    cost = _cost(capsys, str(file), "--on", machine)
    assert cost["fits"]
    assert cost["free_bytes"] == HARDWARE[machine].hbm_bytes
    assert cost["compute_seconds"] <= cost["op_seconds"] <= cost["seconds_overlapped"] <= cost["seconds_in_turn"]
    assert cost["seconds_in_turn"] > 0


def test_collectives_come_by_kind_and_axes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    (file,) = (path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
    cost = _cost(capsys, str(file), "--on", "tpu_v5e")
    assert ("all-reduce", '{"data"}') in [(each["kind"], each["axes"]) for each in cost["collectives"]]
    assert main(["cost", str(file), "--on", "tpu_v5e"]) == 0
    text = capsys.readouterr().out
    for part in (
        "collectives of sdy's partitioner on tpu_v5e",
        'all-reduce │ {"data"}',
        "latency",
        "µs",
        "16,000,000,000",
        "yes",
    ):
        assert part in text


def test_an_unknown_machine_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(EXAMPLES[0]), "--on", "tpu_v5x"]) == 2
    text = capsys.readouterr().err
    assert "SDY-T209" in text
    assert "did you mean tpu_v5" in text


@pytest.mark.parametrize(
    ("text", "count"), [("300e6", 300e6), ("16GB", 16e9), ("16GiB", 16 * 2.0**30), ("1.5 kb", 1500.0)]
)
def test_free_bytes_may_have_a_unit(text: str, count: float) -> None:
    assert parser().parse_args(["FILE", f"--free-bytes={text}"]).free_bytes == count


def test_without_a_machine_the_known_ones_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(EXAMPLES[0])]) == 2
    text = capsys.readouterr().err
    assert "SDY-T204" in text
    assert all(name in text for name in HARDWARE)


@pytest.mark.parametrize("words", ["-1", "much", "nan", "inf", "16 apples"])
def test_free_bytes_are_a_number(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(EXAMPLES[0]), "--on", "h100", f"--free-bytes={words}"]) == 2
    assert "expected a number of bytes" in capsys.readouterr().err


def test_a_device_outside_of_the_mesh_is_an_error_at_its_op(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "no_mesh.mlir"
    file.write_text("""\
func.func @main(%a: tensor<8xf32>) -> tensor<16xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
""")
    assert main(["cost", str(file), "--on", "tpu_v4p"]) == 2
    text = capsys.readouterr().err
    assert "SDY-T210" in text
    assert "no_mesh.mlir:2:" in text
    assert "collective refers to device 1" in text


def test_a_machine_of_a_file_is_found_again_by_contracts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip, contract = tmp_path / "chip.toml", tmp_path / "contract.toml"
    chip.write_text(
        'hbm_bytes = "1GB"\nhbm_bandwidth = "1TB/s"\nrates = {bits16 = 1e14}\n'
        'torus = {axes = 2, link_bandwidth = "10GB/s", wrap_multiple = 4}\n'
    )
    cost = _cost(capsys, str(EXAMPLES[0]), "--on", str(chip))
    assert cost["free_bytes"] == 10**9
    assert main(["check", str(EXAMPLES[0]), "--contract", str(contract), "--update", "--on", str(chip)]) == 0
    assert main(["check", str(EXAMPLES[0]), "--contract", str(contract)]) == 0


def test_machines_are_listed_without_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in HARDWARE)
    assert main(["cost", "--on", "h100"]) == 2
    assert main(["cost", str(EXAMPLES[0])]) == 2
    assert "choose a machine: tpu_v4p, " in capsys.readouterr().err
