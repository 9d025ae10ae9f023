"""The HTML that notebooks show: size, well-formedness, isolation from the page around it, and representations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest
from support.browser import answers, needs_browser
from support.examples import EXAMPLES

import sdy
from sdy.cost.program_cost import ProgramCost
from sdy.evidence.partitioners.table import PartitionerResult, PartitionerResults
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound
from sdy.evidence.runs.verification import OutputComparisons, Verification
from sdy.model.html_repr import HtmlRepr
from sdy.model.mesh import Mesh, MeshAxis
from sdy.report.html.markup import HUES, AxisColours, hue_properties, page_style
from sdy.report.sweep_points import Origin, Sweep, SweepCost, SweepPoint

FILE = next(path for path in EXAMPLES if path.stem == "matmul_case3")
LIMIT = 200_000  # bytes of a fragment
LAYERS = 32
VOID = {"br", "hr", "img", "input", "link", "meta"}


def layers_text(count: int) -> str:
    """Return a program of layers, each with eight weights whose names are long."""
    weights = [(layer, part) for layer in range(count) for part in range(8)]
    arguments = ", ".join(
        f'%w{layer}_{part}: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"data"}}, {{"model"}}]>}}'
        for layer, part in weights
    )
    ops = [
        f"  %v{index} = stablehlo.dot %v{index - 1}, %w{layer}_{part} : "
        "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"
        for index, (layer, part) in enumerate(weights)
    ]
    body = "\n".join(ops).replace("%v-1", "%x")
    return (
        f'sdy.mesh @mesh = <["data"=4, "model"=2]>\nfunc.func @main(%x: tensor<64x64xf32>, {arguments}) '
        f"-> tensor<64x64xf32> {{\n{body}\n  return %v{len(weights) - 1} : tensor<64x64xf32>\n}}"
    )


@cache
def shown_values() -> dict[str, object]:
    """Return values of all kinds that notebooks show, by name."""
    program = sdy.load(FILE)
    mesh = sdy.parse_mesh('<["x"=4, "y"=2]>')
    plan = program.search(mesh="x=4", time_limit=5)
    point = SweepPoint("tpu_v5e", "x=4", Origin.SEARCHED, SweepCost(1e-3, 1e-4, 1e6, 1000, 1e9))
    partitioned = program.partition()
    comparisons = program.verify()
    other = sdy.Program.from_text(FILE.read_text().replace('[{}, {"x"}]', "[{}, {}]"))
    result = PartitionerResult("sdy", None, comparisons, "failed")
    return {
        "program": program,
        "propagated": program.propagate(),
        "partitioned": partitioned,
        "placement": partitioned.boundary,
        "tensor placement": partitioned.boundary.arguments[0],
        "cost": program.cost("tpu_v5e"),
        "machine": program.cost("tpu_v5e").hardware,
        "comparisons": comparisons,
        "partitioners": PartitionerResults([result]),
        "proof": program.prove(),
        "diff": program.diff(other),
        "lint": program.lint(),
        "plan": plan,
        "explanation of a plan": plan.explain(5),
        "tactics": program.apply(sdy.shard("%arg0", dim=0, axis="y")),
        "facts": program.partition_summary(),
        "mesh": mesh,
        "large mesh": sdy.parse_mesh('<["x"=4096, "y"=64]>'),
        "maximal mesh": Mesh((), (3,)),
        "sharding": sdy.parse_sharding('<@mesh, [{"x", ?}p1, {"y":(1)2}], replicated={"z"}>'),
        "sharding with a mesh": sdy.parse_sharding('<mesh<["x"=4, "y"=2]>, [{"x"}, {}], unreduced={"y"}>'),
        "run": sdy.run_spmd(partitioned, [np.ones(shape, dtype) for shape, dtype in program.input_types]),
        "sweep": Sweep([point] * 100),
    }


VALUES = (
    *("program", "propagated", "partitioned", "placement", "tensor placement", "cost", "machine", "comparisons"),
    *("partitioners", "proof", "diff", "lint", "plan", "explanation of a plan", "tactics", "facts"),
    *("mesh", "large mesh", "maximal mesh", "sharding", "sharding with a mesh", "run", "sweep"),
)


@cache
def large_values() -> dict[str, object]:
    """Return values of a program of many layers."""
    program = sdy.Program.from_text(layers_text(LAYERS))
    partitioned = program.partition()
    return {
        "program": program,
        "propagated": program.propagate(),
        "partitioned": partitioned,
        "placement": partitioned.boundary,
        "cost": program.cost("tpu_v5e"),
        "facts": program.partition_summary(),
        "diff": program.diff(sdy.Program.from_text(layers_text(LAYERS).replace('{"model"}', "{}"))),
    }


def shown(value: object) -> str:
    """Return the HTML that a notebook shows for a value."""
    found = methodcaller("_repr_html_")(value)
    assert isinstance(found, str)
    return found


class Tags(HTMLParser):
    """Collects the tags and attributes of a text, and checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def selectors(html: str) -> Iterator[str]:
    """Yield the selectors of all rules of the style sheet in a fragment, without those of media queries."""
    style = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    for rule in re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]*\{", "", style)):
        yield from (selector.strip() for selector in rule.split(","))


@pytest.mark.parametrize("name", VALUES)
def test_fragments_are_small_well_formed_and_isolated(name: str) -> None:
    html = shown(shown_values()[name])
    assert len(html.encode()) <= LIMIT
    parsed = Tags(html)
    assert "script" not in parsed.tags
    assert not {"src", "href", "id", "onclick"} & {attribute for attribute, _ in parsed.attributes}
    assert "http" not in html
    assert "url(" not in html
    assert "@import" not in html
    found = list(selectors(html))
    assert found
    assert [each for each in found if not re.search(r"\.sdy-html\b", each)] == []


@pytest.mark.parametrize("name", VALUES)
def test_representations_are_short_and_of_one_line(name: str) -> None:
    text = repr(shown_values()[name])
    assert "\n" not in text
    assert len(text) < 160
    assert re.match(r"[A-Z]\w+\(.*\)$", text)


@pytest.mark.parametrize("name", ["program", "propagated", "partitioned", "placement", "cost", "facts", "diff"])
def test_fragments_of_a_large_program_are_small(name: str) -> None:
    html = shown(large_values()[name])
    assert len(html.encode()) <= LIMIT
    assert "script" not in Tags(html).tags
    if name != "cost":  # whose rows are kinds of collectives
        assert re.search(r"… [\d,]+ more rows", html)
    assert len(repr(large_values()[name])) < 160


def test_representations_say_what_matters() -> None:
    values = shown_values()
    assert repr(values["mesh"]) == 'Mesh(<["x"=4, "y"=2]>)'
    assert repr(values["sharding"]) == 'TensorSharding(<@mesh, [{"x", ?}p1, {"y":(1)2}], replicated={"z"}>)'
    assert repr(values["sharding with a mesh"]).startswith('TensorSharding(<mesh<["x"=4, "y"=2]>, [{"x"}')
    assert repr(Mesh((MeshAxis("x", 4096),), tuple(reversed(range(4096))))).endswith("and 4,088 more]>)")
    same = "the same function, in 3 draws of exact numbers; the chance of an error is below 2^-16"
    assert repr(values["comparisons"]) == f"OutputComparisons({same})"
    wrong = OutputComparison(1, agrees=False, problem="1.0 instead of 2.0")
    round_ = VerifiedRound("uniform", (wrong, wrong))
    assert repr(OutputComparisons(Verification((round_,)))) == "OutputComparisons(2 of 2 outputs differ)"
    assert repr(wrong) == "OutputComparison(1: 1.0 instead of 2.0)"
    assert repr(values["proof"]).startswith("Proof(proved, ")
    cost = values["cost"]
    assert isinstance(cost, ProgramCost)
    assert re.fullmatch(r"ProgramCost\(tpu_v5e: .+, [\d,]+ bytes sent, [\d,]+ peak bytes\)", repr(cost))


def test_axes_have_the_colours_of_the_report() -> None:
    for stage in ("program", "partitioned", "cost", "facts", "placement"):
        found = dict(re.findall(r'style="--axis:(#\w+)">([xy])', shown(shown_values()[stage])))
        assert {name: hue for hue, name in found.items()}.get("x", HUES[0]) == HUES[0]
    assert all(f"--hue-{index}: {hue};" in page_style() for index, hue in enumerate(HUES))
    assert hue_properties().count("--hue-") == len(HUES)
    assert AxisColours(["y", "x"]).hue("x") == HUES[1]


def test_pictures_name_the_devices_of_each_shard() -> None:
    html = shown(shown_values()["placement"])
    assert html.count("<svg") == 3
    shards = re.findall(r'<rect class="shard"[^>]*><title>devices ([^<]*)</title>', html)
    assert "0, 1" in shards
    assert "0 to 7" in shards


def test_a_value_without_a_renderer_is_shown_as_text() -> None:
    class Unknown(HtmlRepr):
        pass

    assert methodcaller("_repr_html_")(Unknown()) is None


@needs_browser
@pytest.mark.parametrize(
    ("page", "colour"),
    [('<body style="background:#111;color:#eee" data-jp-theme-light="false">', "eee"), ("<body>", "000")],
    ids=["dark", "light"],
)
def test_fragments_take_the_colour_of_the_page_and_change_nothing_in_it(page: str, colour: str, tmp_path: Path) -> None:
    own = "<table id='own'><tr><td>1</td></tr></table>"
    html = f"<html>{page}{own}{shown(shown_values()['partitioned'])}</body></html>"
    script = """
      const style = (node) => getComputedStyle(document.querySelector(node));
      return { cell: style(".sdy-html td").color,
               own: style("#own td").borderBottomWidth, own_font: style("#own td").fontSize,
               wide: document.documentElement.scrollWidth > document.documentElement.clientWidth };
    """
    channel = str(int(colour[:1] * 2, 16))
    found = answers(html, script, tmp_path, width=420)
    assert found["cell"] == f"rgb({channel}, {channel}, {channel})"
    assert (found["own"], found["own_font"], found["wide"]) == ("0px", "16px", False)
