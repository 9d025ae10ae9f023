"""The page of `sdy report --html` in headless Chromium: it shows the program without errors, and the search works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.browser import answers, needs_browser
from support.examples import EXAMPLE_NAMES, EXAMPLES
from support.slow_cases import slow_except

import sdy
from sdy.cost.statistics import statistics_of
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.evidence.runs.comparison import OutputComparison

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
NARROW = """
  const sizes = { page: document.documentElement.clientWidth, content: document.documentElement.scrollWidth };
  const isClipped = (node) => node.scrollWidth > node.clientWidth + 1;
  const labels = [...document.querySelectorAll(".bar span:not(.narrow), .card *, h1, .key span, #meshes span")];
  const svg = document.querySelector("#curve svg"), frame = svg.getBoundingClientRect();
  const outside = [...svg.querySelectorAll("text")].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1;
  });
  const row = [...document.querySelectorAll(".row[data-row]")].at(-1);
  row.scrollIntoView({ block: "end", behavior: "instant" });
  row.click();
  const hidden = row.getBoundingClientRect().bottom - document.getElementById("details").getBoundingClientRect().top;
  return { ...sizes, clipped: labels.filter(isClipped).map((node) => node.textContent),
    outside: outside.map((node) => node.textContent), is_chosen_row_visible: hidden <= 0,
    cards: [...document.querySelectorAll(".card span")].map((node) => node.textContent) };
"""
LAYERS, LAYER_OPS = 4, 60
FOLDS = """
  const count = (what) => document.querySelectorAll(what).length;
  const folds = count(".fold"), before = count(".row[data-row]");
  document.querySelector(".fold").click();
  const opened = count(".row[data-row]");
  goToLine(LAST_LINE);
  const at = document.querySelector(".row.chosen .at").textContent;
  return { folds, before, opened, after: count(".row[data-row]"), at };
"""
EMPTY = """
  const odd = /NaN|undefined/.test(document.body.innerText);
  return { rows: document.querySelectorAll(".row[data-row]").length, odd };
"""
PARTITIONERS = """
  const section = document.getElementById("partitioners");
  const rows = [...section.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  const row = (title) => (rows.find(([first]) => first.startsWith(title)) ?? []).slice(1);
  return { head: rows[0] ?? [], flops: row("FLOPs"), results: row("results"), is_shown: section.offsetHeight > 0,
    problems: [...section.querySelectorAll("p")].map((node) => node.textContent) };
"""
DIFFERENCES = """
  const rows = (number) => [...document.querySelectorAll(`#section-${number} tbody tr`)]
    .map((row) => [...row.children].map((cell) => cell.textContent));
  const page = document.documentElement;
  return { title: document.querySelector("h1").firstChild.textContent, annotations: rows(1),
    totals: document.querySelectorAll(".card").length, collectives: rows(3).map(([change]) => change),
    is_too_wide: page.scrollWidth > page.clientWidth };
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
def test_all_sections_are_shown(tmp_path: Path) -> None:
    program = sdy.load(FILE)
    found = answers(program.report_html(), SHOWN, tmp_path)
    runs = sum(each.places for each in program.cost("tpu_v5e").collectives)
    assert found["title"] == f"{FILE}: sharding report"
    assert found["axes"] == ["data 4", "model 2"]
    assert (found["collectives"], found["cards"], found["curve"]) == (runs, 7, 1)
    assert isinstance(found["rows"], int)
    assert found["rows"] > 100
    assert isinstance(found["sends"], int)
    assert found["sends"] > 0
    assert found["colours"] == 2


FIRST = """
  const details = document.getElementById("details"), chosen = details.querySelector("h3").textContent;
  const lines = details.querySelectorAll("button.link").length;
  [...document.querySelectorAll("#collectives tbody tr")].at(-1).children[3].querySelector("button").click();
  return { head: [...document.querySelectorAll("#head p")].map((each) => each.textContent), chosen,
    other: details.querySelector("h3").textContent, lines,
    columns: [...document.querySelectorAll("#collectives th")].map((each) => each.textContent.replace(" ↓", "")) };
"""


@needs_browser
def test_the_dearest_collective_and_its_causes_are_shown_first(tmp_path: Path) -> None:
    program = sdy.load(FILE)
    found = answers(program.report_html("h100"), FIRST, tmp_path, width=420)
    dearest = max(program.partition_summary("h100").collectives, key=lambda each: each.seconds)
    assert str(found["chosen"]).startswith(f"{dearest.kind.value} ")
    assert found["other"] != found["chosen"]
    assert isinstance(found["lines"], int)
    assert found["lines"] > 1
    assert strings(found, "columns")[:4] == ["kind", "time", "source", "cause"]
    head = strings(found, "head")
    assert any(each.startswith("as sdy partitions it: each device sends") for each in head)
    assert head[-1] == "times are for h100; on=MACHINE, or --on, chooses another machine"


@needs_browser
def test_other_partitioners_have_a_column_each(tmp_path: Path) -> None:
    program = sdy.load(FILE)
    statistics = statistics_of(program.partition().local)
    agrees = OutputComparison(0, agrees=True)
    results = [
        PartitionerResult("sdy", statistics, (agrees, agrees)),
        PartitionerResult("xla", statistics, (agrees, replace(agrees, agrees=False))),
        PartitionerResult("shardy", problem="stopped after 3 seconds"),
    ]
    found = answers(program.report_html(partitioners=results), PARTITIONERS, tmp_path)
    assert found["head"] == ["collectives: runs, bytes sent", "sdy", "xla", "shardy"]
    assert found["flops"] == [f"{statistics.flops:,}", f"{statistics.flops:,}", ""]
    assert found["results"] == ["agree", "1 of 2 differ", "failed"]
    assert found["problems"] == ["shardy: stopped after 3 seconds"]
    assert found["is_shown"]
    assert not answers(program.report_html(), PARTITIONERS, tmp_path)["is_shown"]


@needs_browser
def test_a_page_of_differences_shows_what_came_and_went(tmp_path: Path) -> None:
    text = FILE.read_text("utf-8")
    weight = 'tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}'
    changed = text.replace(weight, weight.replace('{"model"}', "{}"))
    found = sdy.load(FILE).diff(sdy.Program.from_text(changed, "<b>.mlir"))
    page = sdy.diff_page(found, "a.mlir and <b>.mlir")
    for width in (1400, 420):
        shown = answers(page, DIFFERENCES, tmp_path, width=width)
        assert shown["title"] == "a.mlir and <b>.mlir"
        assert shown["totals"] == 4
        assert shown["annotations"] == [["params[2][0]", "[{model}, {}]", "[{}, {}]"]]
        assert len(strings(shown, "collectives")) == len(found.collectives) > 0
        assert shown["is_too_wide"] is False


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
def test_a_click_shows_the_origin_of_axes(tmp_path: Path) -> None:
    found = answers(sdy.load(FILE).report_html(), CHOSEN, tmp_path)
    assert "each device" in str(found["sending"])
    assert str(found["linked"]).isdigit()
    for part in ("%0", "local type", 'annotated [{"data"}, {}]', "from operand 0 (batch[0]) to the result (%0)"):
        assert part in str(found["dot"])


@needs_browser
def test_names_in_the_program_stay_text(tmp_path: Path) -> None:
    page = sdy.Program.from_text(STRANGE, "<script>alert(3)</script>.mlir").report_html()
    found = answers(page, MARKUP, tmp_path)
    assert (found["scripts"], found["images"]) == (3, 0)  # data, code, and the one that asks
    assert found["axes"] == ["<script>alert(1)</script> 2", "<img src=x onerror=alert(2)> 2"]


@needs_browser
def test_layers_are_folded_until_one_of_their_lines_is_selected(tmp_path: Path) -> None:
    names = ["tanh" if place % LAYER_OPS == 0 else "abs" for place in range(LAYERS * LAYER_OPS)]
    ops = [f"  %v{place + 1} = stablehlo.{name} %v{place} : tensor<4xf32>" for place, name in enumerate(names)]
    text = [
        "func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {",
        *ops,
        f"  return %v{len(ops)} : tensor<4xf32>",
        "}",
    ]
    page = sdy.Program.from_text("\n".join(text)).report_html()
    found = answers(page, FOLDS.replace("LAST_LINE", str(len(ops) + 1)), tmp_path)
    shown = 1 + LAYER_OPS + 1  # the argument, one layer, the end
    assert found == {
        "folds": LAYERS - 1,
        "before": shown,
        "opened": shown + LAYER_OPS,
        "after": shown + 2 * LAYER_OPS,
        "at": str(len(ops) + 1),
    }


@needs_browser
@pytest.mark.parametrize(
    ("program", "rows"),
    [
        ("func.func @main() { return }", 1),
        ("func.func @main(%t: !stablehlo.token) -> !stablehlo.token { return %t : !stablehlo.token }", 2),
    ],
)
def test_a_program_that_takes_no_time_is_shown(program: str, rows: int, tmp_path: Path) -> None:
    assert answers(sdy.Program.from_text(program).report_html(), EMPTY, tmp_path) == {"rows": rows, "odd": False}


@needs_browser
@pytest.mark.parametrize("name", slow_except(["attention", "constraint_transpose", "mlp_dp4_tp2"], EXAMPLE_NAMES))
def test_a_narrow_page_clips_no_label_and_keeps_the_chosen_row_in_view(name: str, tmp_path: Path) -> None:
    (file,) = (path for path in EXAMPLES if path.stem == name)
    found = answers(sdy.load(file).report_html(), NARROW, tmp_path, width=420)
    assert found["content"] == found["page"]
    assert found["clipped"] == found["outside"] == []
    assert found["is_chosen_row_visible"]
    assert any("without overlap" in text for text in strings(found, "cards"))
    assert "total if both overlap completely" in strings(found, "cards")
