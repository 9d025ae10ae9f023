"""The playground in headless Chromium, with sdy in Pyodide.

One test does all that a user does, because Python takes seconds to start on the page.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest
from support.browser import needs_browser
from support.devtools import Page, browser_page, served
from support.examples import EXAMPLES

from sdy.tools.playground.answers import answer
from sdy.tools.playground.build import CACHE, PAGE, UnavailableError, build

TEXTS = {path.stem: path.read_text("utf-8") for path in EXAMPLES}
COMPARED = ("matmul_case3", "constraint_transpose", "mlp_dp8")
# The controls and cards that reach beyond the section that they are in.
OUTSIDE = """
  [...document.querySelectorAll("#value button, #value input, #value li, #mesh button, .card, h2")].filter((node) =>
    node.getBoundingClientRect().right > node.closest("section").getBoundingClientRect().right
  ).map((node) => node.outerHTML)
"""
READY = "document.body.matches('.ready:not(.waiting)')"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Build the playground and serve it."""
    folder = tmp_path_factory.mktemp("playground")
    try:
        build(folder, CACHE)
    except UnavailableError as error:
        pytest.skip(f"the playground cannot be built: {error}")
    with served(folder) as url:
        yield url


@needs_browser
def test_a_visit_in_chromium(url: str, tmp_path: Path) -> None:
    with browser_page(tmp_path / "profile") as page:
        page.resize(1400)
        page.open(url)
        the_first_answers_are_shown_before_python_starts(page)
        page.wait(READY)
        pyodide_answers_as_python_here(page)
        an_error_in_sdy_does_not_stop_python(page)
        sliders_change_the_text_and_the_results(page)
        an_error_is_marked_until_it_is_mended(page)
        a_click_explains_a_value(page)
        a_link_restores_program_machine_and_value(page)
        nothing_is_too_wide(page)
        assert page.errors == []


@needs_browser
def test_a_folder_without_pyodide_says_how_to_build_it(tmp_path: Path) -> None:
    with served(PAGE) as url, browser_page(tmp_path / "profile") as page:
        page.open(url)
        page.wait("document.getElementById('stage').textContent.includes('make playground')")


def the_first_answers_are_shown_before_python_starts(page: Page) -> None:
    page.wait("document.querySelector('#collectives tbody td.number')")
    assert len(text_of(page, "#value ol")) > 0
    colours = "[...document.querySelectorAll('#mesh .axis')].map((node) => getComputedStyle(node).backgroundColor)"
    assert len({*cast(list[str], page.run(colours)), "rgba(0, 0, 0, 0)"}) == 3


def pyodide_answers_as_python_here(page: Page) -> None:
    for name in COMPARED:
        text = TEXTS[name]
        ask_and_compare(page, ask="analysis", text=text, machine="h100")
        ask_and_compare(page, ask="value", text=text, value="%0")
        ask_and_compare(page, ask="why-not", text=text, value="%arg1", dim=0, axis="x")


def an_error_in_sdy_does_not_stop_python(page: Page) -> None:
    found = page.run("import('./python.js').then(({ ask }) => ask({ ask: 'nonsense', text: '' }))")
    assert "unknown question" in str(found)
    ask_and_compare(page, ask="value", text=TEXTS["matmul_case1"], value="%nothing")


def ask_and_compare(page: Page, **question: object) -> None:
    asked = json.dumps(question)
    found = json.dumps(page.run(f"import('./python.js').then(({{ ask }}) => ask({asked}))"))
    assert with_rounded_numbers(found) == with_rounded_numbers(answer(asked))


def with_rounded_numbers(document: str) -> object:
    """Return a document with numbers of 12 digits: Python adds floats more precisely from version 3.12 on."""
    return json.loads(document, parse_float=rounded, parse_int=rounded)


def rounded(digits: str) -> str:
    return f"{float(digits):.12g}"


def sliders_change_the_text_and_the_results(page: Page) -> None:
    choose(page, "matmul_case1")
    assert text_of(page, "#collectives tbody") == "None: the devices do not communicate."
    page.click('#rows [data-value="%arg1"] button')
    page.wait("document.querySelector('#value ol')?.textContent.includes('annotated [{}, {\"y\"}]')")
    page.focus('#value [data-dim="0"] input')
    page.press("ArrowRight")
    page.wait("document.querySelector('#collectives td.kind')")
    assert '%arg1: tensor<32x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}' in program(page)
    page.focus('#mesh [data-axis="x"] input')
    page.press("ArrowRight", times=2)
    page.wait("document.querySelector('#mesh .count').textContent === '16 devices'")
    assert '<["x"=8, "y"=2]>' in program(page)
    page.click('#value [data-dim="1"] .toggle')
    page.wait("document.querySelector('#text').value.includes('[{\"y\"}, {?}]')")
    page.wait(READY)
    page.click("#undo")
    page.wait("document.querySelector('#text').value.includes('[{\"y\"}, {}]')")
    page.wait(READY)
    page.click('#rows [data-value="result"] button')
    page.wait("document.querySelector('#value h2').textContent.includes('result = %0')")
    page.focus('#value [data-dim="1"] input')
    page.press("End")
    page.wait("document.querySelector('#text').value.includes('<@mesh, [{?}, {\"y\", \"x\", ?}]>, jax.result_info')")


def an_error_is_marked_until_it_is_mended(page: Page) -> None:
    choose(page, "matmul_case2")
    page.run("document.querySelector('#text').focus(); document.querySelector('#text').setSelectionRange(0, 0)")
    page.write("%")
    page.wait("document.querySelector('#problems pre')")
    assert text_of(page, "#problems pre").startswith("program.mlir:1:9: error: expected '='")
    page.wait("document.querySelector('.bad-line .wrong')?.textContent === '@jit__lambda'")
    assert page.run("document.body.classList.contains('stale')") is True
    page.press("Backspace")
    page.wait("!document.querySelector('#problems pre') && !document.querySelector('.bad-line, .stale')")


def a_click_explains_a_value(page: Page) -> None:
    choose(page, "mlp_dp4_tp2")
    page.click('#rows [data-value="%16"] button')
    page.wait("document.querySelector('#value h2').textContent.includes('%16')")
    assert "from operand 1 (params[1][0]) to the result (%16)" in text_of(page, "#value")
    page.click("#value .origin .link")
    page.wait("document.querySelector('.chosen-line')?.textContent.startsWith('  func.func public @main')")
    choose(page, "matmul_case2")
    page.click('#rows [data-value="%arg0"] button')
    page.wait("document.querySelector('#value .why')")
    page.click("#value .why")
    page.wait("document.querySelector('#value .why-not pre').textContent.includes('edit: ')")


def a_link_restores_program_machine_and_value(page: Page) -> None:
    page.run("document.querySelector('#machine').value = 'h100'")
    page.run("document.querySelector('#machine').dispatchEvent(new Event('change'))")
    page.write("// a program of my own\n")
    page.wait(READY)
    shown = program(page)
    assert shown.startswith("// a program of my own\n")
    page.click("#share")
    page.wait("location.hash.startsWith('#p=')")
    link = str(page.run("location.href"))
    page.open("about:blank")
    page.open(link)
    page.wait(READY)
    assert program(page) == shown
    values = page.run("['#machine', '#example'].map((each) => document.querySelector(each).value)")
    assert values == ["h100", ""]
    page.wait("document.querySelector('#value h2').textContent.includes('%arg0')")
    page.run("location.hash = '#p=damaged'")
    page.wait(f"{READY} && document.querySelector('#example').value === 'mlp_dp4_tp2'")


def nothing_is_too_wide(page: Page) -> None:
    choose(page, "attention")
    page.click('#rows [data-value="%arg4"] button')
    page.wait("document.querySelectorAll('#value [data-dim]').length === 3")
    page.focus('#value [data-dim="1"] input')
    page.press("End")
    page.wait("document.querySelectorAll('#value .choice .axis').length === 2")
    for width in (1400, 1000, 420):
        page.resize(width)
        assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), width
        assert page.run(OUTSIDE) == [], width


def choose(page: Page, example: str) -> None:
    page.run(f"document.querySelector('#example').value = {json.dumps(example)}")
    page.run("document.querySelector('#example').dispatchEvent(new Event('change'))")
    page.wait(READY)


def program(page: Page) -> str:
    return str(page.run("document.querySelector('#text').value"))


def text_of(page: Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({json.dumps(selector)}).textContent"))
