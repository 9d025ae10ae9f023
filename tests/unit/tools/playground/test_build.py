"""The folder of the playground, and what its wheels contain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.examples import EXAMPLE_NAMES

from sdy.cost.machines.table import HARDWARE
from sdy.tools.playground import build
from sdy.tools.playground.bytecode import compile_wheel, is_used

ANSWERS = """
import json, sys
from sdy.tools.examples import example_texts
from sdy.tools.playground.answers import answer
for text in example_texts().values():
    for question in (
        {"ask": "analysis", "machine": "h100"},
        {"ask": "value", "value": "%0"},
        {"ask": "why-not", "value": "%arg1", "dim": 0, "axis": "x"},
        {"ask": "mesh", "mesh": "mesh", "axes": {"x": 2}},
        {"ask": "annotation", "value": "%0", "dim": 0, "axes": [], "closed": True},
        {"ask": "format"},
        {"ask": "analysis", "machine": "nothing"},
    ):
        answer(json.dumps({**question, "text": text}))
answer('{"ask": "format", "text": "func.func @main("}')
print(json.dumps([name.replace(".", "/") for name in sys.modules]))
"""


def test_the_answers_import_neither_numpy_nor_what_the_wheels_leave_out() -> None:
    done = subprocess.run([sys.executable, "-c", ANSWERS], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout)
    assert "sdy/partitioner/reshard/search" in modules
    assert not {"numpy", "ml_dtypes", "rich"} & set(modules)
    assert [name for name in modules if not is_used(f"{name}.py")] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sdy/examples/matmul_case1.mlir", True),
        ("xdsl/parser/core.py", True),
        ("xdsl/dialects/builtin.py", True),
        ("xdsl/dialects/utils/format.py", True),
        ("xdsl/dialects/acc.py", False),
        ("xdsl/transforms/canonicalize.py", False),
        ("xdsl/backend/riscv/traits.py", False),
        ("docs/index.md", False),
        ("typing_extensions.py", True),
    ],
)
def test_wheels_leave_out_what_nothing_imports(name: str, expected: bool) -> None:
    assert is_used(name) is expected


def test_a_wheel_is_replaced_by_its_bytecode(tmp_path: Path) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for name in ("demo/core.py", "tests/test_core.py", "demo-1.0.dist-info/METADATA"):
            archive.writestr(name, "answer = 42")
    compile_wheel(wheel)
    (found,) = tmp_path.iterdir()
    assert found.name == f"demo-1.0-cp{sys.version_info.major}{sys.version_info.minor}-none-any.whl"
    with ZipFile(found) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert names == {"demo/core.pyc", "demo-1.0.dist-info/METADATA"}
    code = f"import sys; sys.path.append({str(found)!r}); from demo.core import answer; print(answer)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_the_manifest_has_examples_machines_and_the_first_answers() -> None:
    found = json.loads(json.dumps(build.manifest(["sdy.whl"])))
    assert found["wheels"] == ["sdy.whl"]
    assert [each["name"] for each in found["examples"]] == EXAMPLE_NAMES
    assert [each["name"] for each in found["machines"]] == list(HARDWARE)
    (text,) = (each["text"] for each in found["examples"] if each["name"] == build.FIRST_EXAMPLE)
    assert found["first"]["text"] == text
    assert set(found["first"]["answers"]["analysis"]) == {"report", "cost", "partition", "rows"}
    assert found["first"]["answers"]["value"]["explanation"]["values"][0]["name"] == build.FIRST_VALUE


def no_wheels(folder: Path, cache: Path, pyodide: Path) -> list[str]:
    return []


def test_the_script_of_the_report_becomes_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PYODIDE_FILES", ())
    monkeypatch.setattr(build, "_wheels", no_wheels)
    build.build(tmp_path, tmp_path / "cache")
    *_, exports = (tmp_path / "format.js").read_text().splitlines()
    assert exports.startswith("export { HUES, KIND_TONES, byId, make,")
    assert "typeNodes" in exports
    style = (tmp_path / "report.css").read_text()
    assert "--hue-7: " in style
    assert ".axis {" in style
    assert (tmp_path / "index.html").exists()


def test_a_missing_npm_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for flags, status in ((["--if-possible"], 0), ([], 1)):
        monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "site"), "--cache", str(tmp_path / "cache"), *flags])
        assert build.main() == status
        assert capsys.readouterr().err == (
            "the playground is not built: npm is not installed: install Node.js, which contains npm\n"
        )


def test_a_download_that_fails_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for flags, status in ((["--if-possible"], 0), ([], 1)):
        monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "site"), "--cache", str(tmp_path / "cache"), *flags])
        assert build.main() == status
        message = capsys.readouterr().err
        assert message.startswith("the playground is not built: ")
        assert message.endswith("failed: no network\n")


def test_a_command_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "PYODIDE_FILES", ())
    monkeypatch.setattr(build, "PIP", (sys.executable, "-c", "import sys; sys.exit('no compiler')"))
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "site"), "--cache", str(tmp_path), "--if-possible"])
    assert build.main() == 1
    assert capsys.readouterr().err.endswith("failed: no compiler\n")
