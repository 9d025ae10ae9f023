"""The wheel and the sdist: their metadata, and the wheel in a new environment and an empty directory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sdy

ROOT = Path(__file__).resolve().parents[2]
OWN_LIMIT, ALL_LIMIT = 15e6, 250e6  # bytes installed: of our package, and of everything without JAX
NOT_SOURCES = (".*", "build", "dist", "*.egg-info", "__pycache__", "venv*")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the sdist, and the wheel from the sdist, in a copy of the sources, as several processes may."""
    pytest.importorskip("build", reason="the extra `release` is not installed")
    folder, source = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_SOURCES), dirs_exist_ok=True)
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(source)], folder)
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def scripts(distributions: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in a new environment, and return the folder of its commands."""
    environment = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", str(environment)], environment)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    run([str(scripts / "pip"), "install", "--quiet", str(distributions[".whl"])], environment)
    return scripts


def run(command: list[str], folder: Path) -> str:
    """Run a command in a folder, without paths of the test's own environment, and return its output."""
    variables = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "SDY_", "VIRTUAL"))}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_twine_accepts_both(distributions: dict[str, Path], tmp_path: Path) -> None:
    assert set(distributions) == {".whl", ".gz"}
    text = run([sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions.values())], tmp_path)
    assert text.count("PASSED") == 2


def test_the_wheel_holds_the_package_and_nothing_else(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        names = set(wheel.namelist())
        (metadata,) = [wheel.read(name).decode() for name in names if name.endswith("/METADATA")]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sdy"}
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sdy").rglob("*.py")}
    assert expected <= names
    assert {"sdy/py.typed", "sdy/grammar/sharding.lark", "sdy/examples/mlp_dp4_tp2.npz"} <= names
    assert f"\nVersion: {sdy.__version__}\n" in metadata
    assert len(re.findall(r"^Project-URL: ", metadata, re.MULTILINE)) == 5


def test_the_sdist_holds_tests_and_documentation(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions[".gz"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "docs/architecture.md", "tests/conftest.py", "CHANGELOG.md", "LICENSE"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_the_installed_package_works_in_an_empty_directory(scripts: Path, tmp_path: Path) -> None:
    assert run([str(scripts / "sdy"), "--version"], tmp_path) == f"sdy {sdy.__version__}\n"
    assert "matmul_case1.mlir" in run([str(scripts / "sdy"), "examples", "matmul_case1"], tmp_path)
    assert "func.func" in run([str(scripts / "sdy"), "partition", "matmul_case1.mlir"], tmp_path)
    run([str(scripts / "sdy"), "verify", "matmul_case1.mlir"], tmp_path)
    run([str(scripts / "sdy"), "report", "matmul_case1.mlir", "--html", "page.html"], tmp_path)
    assert "sdy.sharding" in run([str(scripts / "sdy-opt"), "matmul_case1.mlir", "-sdy-propagation-pipeline"], tmp_path)
    where = "import sdy, sys; print(sdy.__file__); sys.exit('jax' in sys.modules)"
    assert str(scripts.parent) in run([str(scripts / "python"), "-c", where], tmp_path)


def test_the_installation_is_small(scripts: Path, tmp_path: Path) -> None:
    site = Path(run([str(scripts / "python"), "-c", "import site; print(site.getsitepackages()[0])"], tmp_path).strip())
    sizes = {folder.name: bytes_in(folder) for folder in site.iterdir() if folder.is_dir()}
    foreign = {name for name in sizes if not name.endswith(".dist-info") and name not in ("pip", "setuptools")}
    print({name: f"{size / 1e6:.1f} MB" for name, size in sorted(sizes.items(), key=lambda each: -each[1])[:12]})
    assert sizes["sdy"] < OWN_LIMIT
    assert sum(sizes[name] for name in foreign) < ALL_LIMIT
    assert "jax" not in sizes


def bytes_in(folder: Path) -> int:
    """Return the bytes of the files in a folder, without compiled Python."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
