"""The examples in the documentation print the outputs shown there. `make pages` updates the outputs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.pages import ROOT, differences, examples, pages, updated

from sdy.tools.make_reference import PAGES as PAGES_OF_REFERENCE

DOCS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)
FENCED = re.compile(r"^( *)(```|~~~).*?^ *\2 *$", re.MULTILINE | re.DOTALL)
IMPORTS_JAX = re.compile(r"^(import|from) jax\b", re.MULTILINE)
# Pages whose costs depend on how JAX lowers a program. With another JAX than that of the extra `test`, they must run.
LOWERED = {"docs/tutorials/6-transformer.md", "docs/tutorials/7-pipelines.md", "docs/guides/fit.md"}
# A script, style, image or frame of another host.
OTHER_HOST = re.compile(
    r"""<(?:script|img|iframe|link(?=[^>]*stylesheet))\b[^>]*(?:src|href)=["']?(?:https?:)?//|(?:import|fetch|url)\(["']?https?:"""
)
SOURCE = re.compile(r"`(sdy/[\w/.]+)`")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports_torchax() -> bool:
    """Return whether torchax can be imported: it cannot with every version of torch."""
    return subprocess.run([sys.executable, "-W", "ignore", "-c", "import torchax"], capture_output=True).returncode == 0


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    """Return the marks of a page: `jax` for those that import it, which must hold with the newest JAX too."""
    text = page.read_text()
    if not IMPORTS_JAX.search(text):
        return []
    is_missing = pytest.mark.skipif(find_spec("jax") is None, reason="the page is about JAX, which is not installed")
    return [pytest.mark.jax, is_missing]


PAGES = [pytest.param(page, marks=_marks(page)) for page in pages()]


@pytest.mark.pages
@pytest.mark.parametrize("page", PAGES, ids=map(named, pages()))
def test_examples_print_what_the_page_shows(page: Path, pytestconfig: pytest.Config) -> None:
    if re.search(r"^import torchax\b", page.read_text(), re.MULTILINE) and not _imports_torchax():
        pytest.skip("the page is about PyTorch: the extra `torch` is not installed")
    for library in re.findall(r"^(?:import|from) (flax|equinox|optax)\b", page.read_text(), re.MULTILINE):
        if find_spec(library) is None:
            pytest.skip(f"the page is about {library}, which is not installed")
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    flags = ["--update"] if pytestconfig.getoption("update") else []
    if named(page) in LOWERED and f'"jax=={version("jax")}"' not in (ROOT / "pyproject.toml").read_text():
        flags = ["--any-output"]
    done = subprocess.run(
        [sys.executable, "-m", "support.pages", *flags, str(page)],
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", DOCS, ids=named)
def test_links_exist(page: Path) -> None:
    for link, anchor in LINK.findall(FENCED.sub("", page.read_text())):
        target = (page.parent / link) if link else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of_page(target.resolve()), f"{link}#{anchor}"


@pytest.mark.parametrize("page", DOCS, ids=named)
def test_links_to_the_site_lead_to_generated_pages(page: Path) -> None:
    """Other pages are linked by their file. `make docs` checks the anchors too."""
    for name in re.findall(r"\]\(https://sdy-dev\.github\.io/sdy/(?!playground/?\)|\))([^)#]*)", page.read_text()):
        assert f"{name.removeprefix('reference/').rstrip('/')}.md" in PAGES_OF_REFERENCE, name


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site name them."""
    found: set[str] = set()
    counts: Counter[str] = Counter()
    for heading in HEADING.findall(FENCED.sub("", text)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower().replace("*", "")).strip().replace(" ", "-")
        found.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
        counts[slug] += 1
    return found


@cache
def anchors_of_page(path: Path) -> set[str]:
    """Return the anchors of a page in a file, to which hundreds of links may point."""
    return anchors(path.read_text())


def test_anchors_are_those_of_github() -> None:
    page = f"# One: `two`, [three](x.md)!\n\n## Same\n\n{fenced('sh', '# no heading' + chr(10))}\n## Same\n"
    assert anchors(page) == {"one-two-three", "same", "same-1"}


@pytest.mark.slow  # `make docs` builds the site strictly too
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="the extra `docs` is not installed")
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    variables = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    assert 'src="images/report.png"' in (site / "index.html").read_text()
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    assert [path for path, text in pages.items() if OTHER_HOST.search(text)] == []
    assert not any('data-md-component="source"' in text for text in pages.values())  # asks GitHub for stars
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    places = {entry["location"].partition("#")[0] for entry in found}
    assert "propagation/" in places
    assert not any(place.startswith("spec/") for place in places)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """Only the chapters of the specification are reached from its first page."""
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = set(re.findall(r"[\w./-]+\.md", navigation))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written = {page for page in pages if not page.startswith("spec/0")}
    assert listed == written | {"index.md"} | {f"reference/{name}" for name in PAGES_OF_REFERENCE}


@pytest.mark.parametrize("page", DOCS, ids=named)
def test_referenced_files_exist(page: Path) -> None:
    for path in SOURCE.findall(page.read_text()):
        pattern = re.sub(r"[A-Z]{4,}", "*", path)  # `sdy/rules/FAMILY.py` stands for one file per family
        assert list(ROOT.glob(pattern)), path


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}```\n"


def test_differences_are_found_and_updated() -> None:
    page = "\n".join(
        (
            fenced("python", "x = 1\nprint(x)\n"),
            fenced("text", "2\n"),
            fenced("python", "print(x + 1)\n"),
            "and\n",
            fenced("python", "y = x\n"),
        )
    )
    found = list(differences(page))
    assert [difference.printed for difference in found] == ["1\n", "2\n"]
    assert list(differences(updated(page, found))) == []


def test_sessions_and_files_are_run() -> None:
    program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }\n"
    page = "\n".join(
        (
            fenced("mlir", f"// double.mlir\n{program}"),
            fenced("mlir", f"// sdy-opt: -cse\n{program}"),
            fenced("console", "$ sdy-opt double.mlir\n$ sdy notation 'A[I_X]' --mesh x=2\nnonsense\n"),
            fenced("sh", "! sdy verify missing.mlir\n"),
        )
    )
    printed, session, refused = differences(page)
    assert printed.printed.startswith("module {\n  func.func @main(%arg0")
    assert session.printed.startswith("$ sdy-opt double.mlir\n$ sdy notation 'A[I_X]' --mesh x=2\nsdy ")
    assert "SDY-T001" in refused.printed
    assert list(differences(updated(page, [printed, session, refused]))) == []


def test_an_output_block_without_an_example_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected an example before the output"):
        examples(fenced("python", "print(1)\n") + "prose\n" + fenced("text", "1\n"))


def test_a_block_that_is_not_executed_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected a block that is run or is an output"):
        list(differences(fenced("yaml", "a: 1\n")))


def test_a_module_is_built_propagated_and_read_back_in_twenty_lines() -> None:
    first = examples((ROOT / "docs" / "embedding.md").read_text())[0].block.text
    assert "run_passes" in first
    assert len(first.splitlines()) <= 20
