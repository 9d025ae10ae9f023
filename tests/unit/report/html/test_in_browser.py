"""The page of `sdy report --html` in headless Chromium: it shows the program without a complaint, and it searches."""

from __future__ import annotations

from pathlib import Path

from support.browser import answers, needs_browser
from support.programs import EXAMPLES

import sdy

(FILE,) = (path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")
STRANGE = """
sdy.mesh @m = <["<script>alert(1)</script>"=2, "<img src=x onerror=alert(2)>"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"<script>alert(1)</script>"}, {}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"<img src=x onerror=alert(2)>"}]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
SHOWN = """
  const count = (what) => document.querySelectorAll(what).length;
  return {
    title: document.title, rows: count("#rows .row[data-row]"), sends: count("#rows .row.sends"),
    collectives: count("#collectives tbody tr"), cards: count(".card"), curve: count("#curve svg path.edge"),
    axes: [...document.querySelectorAll("#meshes .axis")].map((node) => node.textContent),
    colours: new Set([...document.querySelectorAll(".axis")].map((node) => node.style.cssText)).size,
  };
"""
SEARCH = """
  const box = document.getElementById("search");
  const texts = (what) => [...document.querySelectorAll(what)].map((node) => node.textContent);
  const look = (words) => { box.value = words; search(); return {
    rows: texts("#rows .row[data-row] .code"), kinds: texts("#collectives tbody td:first-child") }; };
  return { all: look(""), dots: look("dot_general"), gathers: look("all-gather"), line: look("line 48"),
    none: look("no such thing") };
"""
CHOSEN = """
  document.querySelector(".row.sends").click();
  const sending = document.getElementById("details").textContent;
  document.querySelector("#collectives tbody .link").click();
  const linked = document.querySelector(".row.chosen .at").textContent;
  const dot = [...document.querySelectorAll(".row")].find((row) => row.textContent.includes("dot_general"));
  dot.click();
  return { sending, linked, dot: document.getElementById("details").textContent };
"""
MARKUP = """
  return { scripts: document.querySelectorAll("script").length, images: document.querySelectorAll("img").length,
    axes: [...document.querySelectorAll("#meshes .axis")].map((node) => node.textContent) };
"""


def strings(found: object, key: str) -> list[str]:
    assert isinstance(found, dict)
    part: object = found[key]  # pyright: ignore[reportUnknownVariableType]  # what a script of the test returned
    assert isinstance(part, list)
    return [str(each) for each in part]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@needs_browser
def test_all_parts_are_there(tmp_path: Path) -> None:
    program = sdy.load(FILE)
    found = answers(program.report_html(), SHOWN, tmp_path)
    runs = sum(each.places for each in program.cost("tpu_v5e").collectives)
    assert found["title"] == f"{FILE}: sharding report"
    assert found["axes"] == ["x 4", "y 2"]
    assert (found["collectives"], found["cards"], found["curve"]) == (runs, 6, 1)
    assert isinstance(found["rows"], int)
    assert found["rows"] > 100
    assert isinstance(found["sends"], int)
    assert found["sends"] > 0
    assert found["colours"] == 2


@needs_browser
def test_search_filters_the_program_and_its_collectives(tmp_path: Path) -> None:
    found = answers(sdy.load(FILE).report_html(), SEARCH, tmp_path)
    whole = strings(found["all"], "rows")
    dots = strings(found["dots"], "rows")
    assert 0 < len(dots) < len(whole)
    assert all("dot_general" in row for row in dots)
    assert set(strings(found["gathers"], "kinds")) == {"all-gather"}
    assert 0 < len(strings(found["line"], "rows")) < 5
    assert strings(found["none"], "rows") == strings(found["none"], "kinds") == []


@needs_browser
def test_a_click_tells_where_axes_come_from(tmp_path: Path) -> None:
    found = answers(sdy.load(FILE).report_html(), CHOSEN, tmp_path)
    assert "each device" in str(found["sending"])
    assert str(found["linked"]).isdigit()
    for part in ("%0", "one device", 'annotated [{"x"}, {}]', "from operand 0 (%arg8) to the result (%0)"):
        assert part in str(found["dot"])


@needs_browser
def test_names_in_the_program_stay_text(tmp_path: Path) -> None:
    page = sdy.Program.from_text(STRANGE, "<script>alert(3)</script>.mlir").report_html()
    found = answers(page, MARKUP, tmp_path)
    assert (found["scripts"], found["images"]) == (3, 0)  # data, code, and the one that asks
    assert found["axes"] == ["<script>alert(1)</script> 2", "<img src=x onerror=alert(2)> 2"]
