"""The places that name extensions: entry points, pyproject.toml, the environment and the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sdy.tools.command_line.extensions import load_extensions
from sdy.tools.main import main
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run

ORDER = "order_of_loaded_extensions"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with modules that note that they were imported; each test imports them anew."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("SDY_LOAD", raising=False)
    (tmp_path / f"{ORDER}.py").write_text("names = []\n")
    for name in ("ext_entry", "ext_project", "ext_environment", "ext_option"):
        (tmp_path / f"{name}.py").write_text(f"import {ORDER}\n{ORDER}.names.append('{name}')\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(sys.modules, ORDER, raising=False)
    return tmp_path


def loaded() -> list[str]:
    return sys.modules[ORDER].names if ORDER in sys.modules else []


def install(folder: Path, name: str, module: str) -> None:
    """Write the metadata of a package whose entry point names a module."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sdy.extensions]\nmine = {module}\n")


def test_all_places_are_read_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, "signals", "ext_entry")
    (folder / "pyproject.toml").write_text('[tool.sdy]\nload = ["ext_project.py", "ext_entry"]\n')
    monkeypatch.setenv("SDY_LOAD", "ext_environment,ext_entry")
    modules, remaining = load_extensions(["--load=ext_option", "file", "--load", "ext_environment", "--json"])
    assert loaded() == ["ext_entry", "ext_project", "ext_environment", "ext_option"]
    assert modules == ["ext_entry", str(folder / "ext_project.py"), "ext_environment", "ext_option"]
    assert remaining == ["file", "--json"]


def test_the_nearest_pyproject_above_the_working_directory_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text('[tool.sdy]\nload = ["ext_project.py"]\n')
    inner = folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert main(["notation", "A[I_X]", "--mesh", "x=2"]) == 0
    assert loaded() == ["ext_project"]


def test_without_any_place_nothing_is_loaded(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.sdy.lint]\nignore = ["SDY-S4"]\n')
    assert load_extensions(["--json"]) == ([], ["--json"])


FAILURES: dict[str, tuple[str, str, str]] = {
    "entry point": ("", "", "the entry point mine of signals"),
    "pyproject": ('[tool.sdy]\nload = ["no_such_module"]\n', "", "[tool.sdy] in pyproject.toml"),
    "environment": ("", "no_such_module", "$SDY_LOAD"),
    "option": ("", "", "--load"),
}


@pytest.mark.parametrize("place", FAILURES)
def test_a_failing_extension_is_one_diagnostic_with_its_place(
    place: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, environment, origin = FAILURES[place]
    (folder / "pyproject.toml").write_text(project)
    monkeypatch.setenv("SDY_LOAD", environment)
    if place == "entry point":
        install(folder, "signals", "no_such_module")
    option = ["--load=no_such_module"] * (place == "option")
    for tool, code in ((main, 2), (sdy_opt, 1), (sdy_run, 1)):
        assert tool([*(["cost"] if tool is main else []), *option]) == code
        text = capsys.readouterr().err
        assert text.count("error: ") == 1
        assert f"cannot load no_such_module, named by {origin}: No module named 'no_such_module' [SDY-T008]" in text
    if place == "pyproject":
        assert text.startswith(f"{folder / 'pyproject.toml'}:2:1: error")


def test_a_file_with_the_name_of_another_module_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "signal.py").write_text("")
    (folder / "time.py").write_text("")
    assert main(["cost", "--load", "time.py"]) == 2
    assert main(["cost", "--load", "signal.py"]) == 2
    assert "another module named signal is imported already [SDY-T008]" in capsys.readouterr().err
    assert load_extensions(["--load=ext_option.py", "--load=./ext_option.py"])[1] == []
    assert loaded() == ["ext_option"]


def test_a_diagnostic_of_an_extension_says_where_it_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ext_wrong.py").write_text("import sdy\n\nsdy.register_pass(3)\n")
    monkeypatch.setenv("SDY_LOAD", "ext_wrong.py")
    assert main(["cost"]) == 2
    text = capsys.readouterr().err
    assert "derived from xdsl.passes.ModulePass" in text
    assert "note: while loading ext_wrong.py, named by $SDY_LOAD" in text


@pytest.mark.parametrize(
    ("project", "message"),
    [
        ("[tool.sdy]\nload = 'mine.py'\n", "tool.sdy.load: expected a list of modules or .py files, got 'mine.py'"),
        ("[tool.sdy]\nlaod = ['load.py']\n", "unknown key 'tool.sdy.laod'"),
        ("[tool.sdy\nload = []\n", "cannot read"),
    ],
)
def test_a_wrong_pyproject_is_one_error(
    project: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text(project)
    assert main(["cost"]) == 2
    text = capsys.readouterr().err
    assert text.count("error: ") == 1
    assert message in text
    assert "[SDY-T240]" in text
