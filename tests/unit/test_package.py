"""The package: its imports and the contents of its wheel."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.dialects.stablehlo.families import all_ops

ROOT = Path(__file__).resolve().parents[2]
LINKS = ("grammar", "passes", "tools")


def test_importing_sdy_loads_neither_arrays_nor_ir_nor_a_grammar() -> None:
    code = "import sys, sdy; print(*sorted({'numpy', 'jax', 'xdsl', 'lark'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "words",
    [
        ["partition", "FILE"],
        ["cost", "FILE", "--on", "tpu_v5e"],
        ["report", "FILE"],
        ["report", "FILE", "--html", "-"],
        ["report", "FILE", "--json"],
        ["explain", "FILE", "%0"],
        ["explain", "FILE", "%0", "--conflicts", "--collectives", "--json"],
        ["explain", "FILE", "%0", "--why-not", "dim=0 axis=data"],
        ["diff", "FILE", "FILE"],
    ],
    ids=" ".join,
)
def test_commands_that_run_no_program_do_without_numpy(words: list[str]) -> None:
    arguments = [str(EXAMPLES[0]) if word == "FILE" else word for word in words]
    code = "import sys\nfrom sdy.tools.main import main\nmain()\nprint('numpy' in sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("words", "limit"), [(["-c", "import sdy"], 0.150), (["-m", "sdy.tools.main", "--help"], 0.300)]
)
def test_importing_sdy_is_fast(words: list[str], limit: float) -> None:
    """Fresh processes, the start of Python included; the quickest of some, as other tests run meanwhile."""
    assert min(_seconds([sys.executable, *words]) for _ in range(7)) < limit


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("module", [sdy, sdy.extend, sdy.ir], ids=lambda module: module.__name__)
def test_every_public_name_loads(module: ModuleType) -> None:
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nonsense'"):
        _ = module.nonsense


def test_every_op_of_stablehlo_is_public() -> None:
    assert [each for each in all_ops() if getattr(sdy.ir.stablehlo, each.__name__, None) is not each] == []


def test_the_extension_api_loads_neither_arrays_nor_ir() -> None:
    code = "import sys, sdy.extend, sdy.ir; print(*sorted({'numpy', 'jax', 'xdsl', 'lark'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_type_checkers_find_an_installed_package(tmp_path: Path) -> None:
    """A user's file is checked in another directory, where only the installation leads to the package."""
    file = tmp_path / "user.py"
    file.write_text(
        'import sdy\nprogram = sdy.load("x.mlir")\nreveal_type(program)\nreveal_type(program.cost("h100").peak_bytes)\n'
        "from sdy.extend import RuleBuilder\nfrom sdy.ir.stablehlo import DotOp\nreveal_type((RuleBuilder, DotOp))\n"
    )
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert 'Type of "program" is "Program[list[' in done.stdout
    assert 'peak_bytes" is "int"' in done.stdout
    assert '"tuple[type[RuleBuilder], type[DotOp]]"' in done.stdout


@pytest.mark.parametrize("name", LINKS)
def test_the_top_level_links_point_into_the_package(name: str) -> None:
    assert (ROOT / name).is_symlink()
    assert (ROOT / name).resolve() == ROOT / "sdy" / name


def test_the_wheel_contains_only_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sdy"}
    assert "sdy/grammar/sharding.lark" in names
    assert "sdy/examples/mlp_dp4_tp2.npz" in names
    assert {"sdy/py.typed", "sdy/__init__.pyi", "sdy/extend.pyi", "sdy/ir/__init__.pyi"} <= set(names)
    parts = ("page.html", "page.css", "page.model.js", "page.search.js", "fragment.css")
    assert {f"sdy/report/html/{part}" for part in parts} <= set(names)
