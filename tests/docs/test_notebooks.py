"""The notebooks in docs/notebooks show the outputs of their cells, and run in marimo. `make pages` updates them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.notebooks import NOTEBOOKS, ROOT, comparable, differences, executed, notebooks, read

NAMES = {"train_step", "own_strategy_and_op", "four_matmuls"}
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
MACHINE_DEPENDENT = re.compile(r"0x[0-9a-f]{6,}|/tmp/|/home/|ipykernel_\d+")
LIMIT = 300_000  # bytes of a notebook


def named(path: Path) -> str:
    return path.stem


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command, and fail with what it printed if it fails."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def skip_without_jax(path: Path) -> None:
    if "import jax" in path.read_text():
        pytest.importorskip("jax", reason="the notebook is about JAX, which is not installed")


def test_there_are_three_notebooks() -> None:
    assert {path.stem for path in notebooks()} == NAMES


@pytest.mark.pages
@pytest.mark.parametrize("path", notebooks(), ids=named)
def test_cells_have_the_outputs_that_the_notebook_shows(path: Path, pytestconfig: pytest.Config) -> None:
    skip_without_jax(path)
    update = ["--update"] if pytestconfig.getoption("update") else []
    run([sys.executable, "-m", "support.notebooks", *update, str(path)], ROOT / "tests")


@pytest.mark.parametrize("path", notebooks(), ids=named)
def test_notebooks_are_small_and_name_nothing_of_a_machine(path: Path) -> None:
    assert path.stat().st_size < LIMIT
    cells = read(path).cells
    outputs = [text for cell in cells for output in cell.get("outputs", ()) for text in comparable(output).values()]
    assert outputs
    assert [found[0] for text in outputs if (found := MACHINE_DEPENDENT.search(text))] == []
    assert [cell.execution_count for cell in cells if cell.cell_type == "code"] == list(
        range(1, 1 + sum(cell.cell_type == "code" for cell in cells))
    )


@pytest.mark.parametrize("path", notebooks(), ids=named)
def test_notebooks_tell_a_story(path: Path) -> None:
    prose = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    assert prose[0].startswith("# ")
    assert prose[-1].startswith("## Conclusion")
    for link in LINK.findall("\n".join(prose)):
        assert (NOTEBOOKS / link).exists(), link


@pytest.mark.pages
@pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed: it needs 130 MB")
@pytest.mark.parametrize("path", notebooks(), ids=named)
def test_notebooks_run_in_marimo(path: Path, tmp_path: Path) -> None:
    skip_without_jax(path)
    app, page = tmp_path / f"{path.stem}.py", tmp_path / f"{path.stem}.html"
    run([sys.executable, "-m", "marimo", "convert", str(path), "-o", str(app)], tmp_path)
    run([sys.executable, str(app)], tmp_path)
    run([sys.executable, "-m", "marimo", "export", "html", str(app), "-o", str(page)], tmp_path)
    assert "sdy-html" in page.read_text(encoding="utf-8")


def test_a_changed_output_is_found(tmp_path: Path) -> None:
    path = tmp_path / "short.ipynb"
    source = "import sdy\nprint('a', flush=True)\nprint('b')\nsdy.parse_mesh('<[\"x\"=2]>')"
    cell: dict[str, object] = {"cell_type": "code", "id": "a", "metadata": {}, "source": source}
    cell |= {"execution_count": None, "outputs": []}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    found = executed(path)
    assert [each.output_type for each in found.cells[0].outputs] == ["stream", "execute_result"]
    (difference,) = differences(read(path), found)
    assert "Mesh(<" in difference
    assert "<style>" not in difference
    assert list(differences(found, found)) == []
