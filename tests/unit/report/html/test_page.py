"""The data of the page of `sdy report --html`, and that no text of the program is interpreted as markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypedDict, cast

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.tools.main import main

(FILE,) = (path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
(SMALL,) = (path for path in EXAMPLES if path.stem == "matmul_case3")
LAYERS = 6
CONFLICT = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


class PageData(TypedDict):
    """The data in the page that the tests read."""

    file: str
    cost: dict[str, object]
    functions: list[dict[str, list[list[object]]]]
    values: list[tuple[str, int, list[tuple[int, list[str], int]], str]]
    kinds: list[dict[str, object]]
    steps: list[tuple[int, str, str]]
    collectives: list[tuple[str, list[list[str]], int, float, int, bool, int, str, str, list[str]]]
    memory: dict[str, list[object]]
    conflicts: list[tuple[int, str, str, list[str]]]
    source: dict[str, tuple[str, str]]


def data_of(page: str) -> PageData:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return cast(PageData, json.loads(text))


def layered(count: int) -> str:
    """Return a program of `count` equal layers of 12 ops."""
    lines = [
        'sdy.mesh @m = <["x"=2]>',
        'func.func @main(%v0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {',
    ]
    ops = (
        "tanh",
        "negate",
        "exponential",
        "abs",
        "sine",
        "cosine",
        "sqrt",
        "rsqrt",
        "floor",
        "ceil",
        "sign",
        "logistic",
    )
    lines += [
        f"  %v{number + 1} = stablehlo.{ops[number % len(ops)]} %v{number} : tensor<8x8xf32>"
        for number in range(count * len(ops))
    ]
    return "\n".join([*lines, f"  return %v{count * len(ops)} : tensor<8x8xf32>", "}"])


def test_the_command_writes_the_result_of_the_method(tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert main(["report", str(SMALL), "--html", str(out), "--on", "h100"]) == 0
    assert out.read_text() == sdy.load(SMALL).report_html("h100")


def test_without_a_page_the_command_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(SMALL)]) == 0
    assert capsys.readouterr().out == sdy.load(SMALL).report()


def test_the_page_loads_nothing_from_the_network() -> None:
    page = sdy.load(SMALL).report_html()
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)|@import|url\(|fetch\(|XMLHttpRequest""", page)
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) == {"http://www.w3.org/2000/svg"}  # a namespace, not a link


def test_collectives_and_memory_are_those_of_the_cost() -> None:
    program = sdy.load(FILE)
    data, cost = data_of(program.report_html("tpu_v5e")), program.cost("tpu_v5e")
    assert data["cost"] == cost.to_json()
    assert sum(each[2] for each in data["collectives"]) == round(sum(each.bytes_sent for each in cost.collectives))
    assert sum(each[3] for each in data["collectives"]) == pytest.approx(cost.communication_seconds)
    assert data["memory"]["peak"][1] == cost.peak_bytes
    lines = FILE.read_text().splitlines()
    for each in data["collectives"]:
        assert lines[each[6] - 1].strip().startswith(data["source"][str(each[6])][0].removesuffix(" …"))


def test_a_value_has_its_types_and_the_origin_of_its_axes() -> None:
    program = sdy.Program.from_text(CONFLICT, "conflict.mlir")
    data = data_of(program.report_html())
    values = {value[0]: value for value in data["values"]}
    _, kind, origins, _ = values["%0"]
    assert data["kinds"][kind]["local"] == "tensor<4x8xf32>"
    assert data["kinds"][kind]["bytes"] == [256, 128]
    assert data["kinds"][kind]["dims"] == [[8, [["x", "x"]]], [8, []]]
    ((dim, axis, step),) = origins
    assert (dim, axis) == (0, ["x", "x"])
    before, line, words = data["steps"][step]
    assert (line, words) == ("line 5", "%0 = stablehlo.add: from operand 0 (%a) to the result (%0)")
    assert data["steps"][before][1:] == ["line 3", '%a: annotated [{"x"}, {}]']


def test_conflicts_have_a_reason() -> None:
    data = data_of(sdy.Program.from_text(CONFLICT, "conflict.mlir").report_html())
    ((line, line_text, op, sentences), *_) = data["conflicts"]
    assert (line, line_text, op) == (5, "line 5", "%0 = stablehlo.add")
    assert any("that dim is closed" in each or "of that tensor is sharded along" in each for each in sentences)


def test_collectives_have_causes() -> None:
    (collective,) = data_of(sdy.Program.from_text(CONFLICT, "conflict.mlir").report_html())["collectives"]
    assert collective[0] == "all-to-all"
    assert collective[8] == "a conflict of propagation"
    assert any("is sharded along" in line for line in collective[9])


def test_layers_are_folded() -> None:
    data = data_of(sdy.Program.from_text(layered(LAYERS)).report_html())
    assert data["functions"][0]["repeats"] == [[1, 12, LAYERS]]


def test_program_text_is_never_markup() -> None:
    text = CONFLICT.replace('"x"', '"</script><script>alert(1)</script>"')
    page = sdy.Program.from_text(text, "<script>alert(2)</script>.mlir").report_html()
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert data_of(page)["file"] == "<script>alert(2)</script>.mlir"


def test_an_unknown_machine_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(FILE), "--html", "-", "--on", "tpu"]) == 2
    assert "SDY-T209" in capsys.readouterr().err
    with pytest.raises(SdyError):
        sdy.load(FILE).report_html("tpu")
