"""Builds the playground: one folder of static files that any web server can serve, or a site can contain.

The folder has the page of docs/playground, Pyodide from its npm package, and the wheels of sdy and of the packages that
it imports there, compiled to bytecode. Nothing is loaded from another host.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from hashlib import sha256
from importlib.metadata import requires, version
from importlib.resources import files
from json import dumps, loads
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import sdy
from sdy.cost.hardware import machine_json
from sdy.cost.machines.table import DEFAULT_MACHINE, HARDWARE
from sdy.report.html.markup import page_style
from sdy.tools.examples import example_texts, examples_json
from sdy.tools.playground.answers import answer, with_argument_lines

PYODIDE = "314.0.7"  # the version on npm; it has Python 3.14
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
NOT_IMPORTED = {"numpy", "ml_dtypes", "rich"}  # dependencies for commands that run programs or print tables
FIRST_EXAMPLE, FIRST_VALUE = "mlp_dp4_tp2", "params[1][0]"

PIP = (sys.executable, "-m", "pip")
ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "playground"
CACHE = ROOT / "build" / "playground"  # for downloads and compiled wheels
FORMATTING = re.compile(r"^(?:const|let) (\w+) =", re.MULTILINE)


class UnavailableError(Exception):
    """A program that the build runs is not installed, or a package cannot be downloaded."""


class CommandError(Exception):
    """A command of the build failed."""


def build(folder: Path, cache: Path) -> None:
    """Build the playground in `folder`; `cache` keeps what was downloaded.

    Raises: UnavailableError if npm, node or a package is not available, CommandError if another command fails.
    """
    pyodide = pyodide_folder(cache)
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    (folder / "report.css").write_text(page_style(), encoding="utf-8")
    script = files("sdy.report.html").joinpath("page.format.js").read_text(encoding="utf-8")
    (folder / "format.js").write_text(script + _exports(script), encoding="utf-8")
    (folder / "pyodide").mkdir(exist_ok=True)
    for name in PYODIDE_FILES:
        shutil.copy(pyodide / name, folder / "pyodide")
    wheels = _wheels(folder / "wheels", cache, pyodide)
    (folder / "manifest.json").write_text(dumps(manifest(wheels)), encoding="utf-8")


def pyodide_folder(cache: Path) -> Path:
    """Return the folder of Pyodide's npm package in the cache; install it there if it is missing.

    Raises: UnavailableError if npm or the package is not available.
    """
    folder = cache / f"pyodide-{PYODIDE}" / "node_modules" / "pyodide"
    if not all((folder / name).exists() for name in PYODIDE_FILES):
        options = ("--prefix", str(cache / f"pyodide-{PYODIDE}"), "--no-audit", "--no-fund", "--loglevel=error")
        _download(_program("npm"), "install", *options, f"pyodide@{PYODIDE}")
    return folder


def manifest(wheels: list[str]) -> dict[str, object]:
    """Return what the page loads before Python: the wheels, the machines, the examples, and the first answers."""
    texts = {name: with_argument_lines(text, f"{name}.mlir") for name, text in example_texts().items()}
    shown = {"text": texts[FIRST_EXAMPLE], "machine": DEFAULT_MACHINE, "value": FIRST_VALUE}
    analysis, value = (loads(answer(dumps({"ask": ask, **shown}))) for ask in ("analysis", "value"))
    return {
        "version": sdy.__version__,
        "wheels": wheels,
        "machines": [machine_json(each) for each in HARDWARE.values()],
        "examples": [{**each, "text": texts[str(each["name"])]} for each in examples_json()],
        "first": {**shown, "answers": {"analysis": analysis, "value": value}},
    }


def _exports(script: str) -> str:
    """Return the line that makes a module of a script: it exports all names of the script."""
    return f"export {{ {', '.join(FORMATTING.findall(script))} }};\n"


def _wheels(folder: Path, cache: Path, pyodide: Path) -> list[str]:
    """Write the wheels of sdy and of its dependencies, compiled for Pyodide, and return their names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with TemporaryDirectory() as temporary:
        own = _own_wheel(Path(temporary))
        dependencies = [_downloaded(name, cache / "wheels") for name in sorted(_imported_packages("sdy") - {"sdy"})]
        for wheel in (own, *dependencies):
            shutil.copy(_compiled(wheel, cache / "compiled", pyodide), folder)
    return sorted(path.name for path in folder.iterdir())


def _own_wheel(folder: Path) -> Path:
    """Build the wheel of sdy in a folder, from a copy of the sources: setuptools leaves files next to them."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "sdy", folder / "sdy", ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    _run(*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "dist"), str(folder))
    return next((folder / "dist").glob("*.whl"))


def _downloaded(package: str, folder: Path) -> Path:
    """Return the wheel of the version of a package that is installed here; download it if it is not in `folder`."""
    pattern = f"{package}-{version(package)}-*.whl"
    if not list(folder.glob(pattern)):
        options = ("--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder))
        _download(*PIP, "download", *options, f"{package}=={version(package)}")
    return next(folder.glob(pattern))


def _compiled(wheel: Path, folder: Path, pyodide: Path) -> Path:
    """Return a wheel with bytecode for Pyodide in place of Python files; compile it if it is not in `folder`."""
    with ZipFile(wheel) as archive:
        contents = sorted((entry.filename, entry.CRC) for entry in archive.infolist())
    package, compiler = wheel.name.partition("-")[0], Path(__file__).with_name("bytecode.py")
    key = repr((PYODIDE, compiler.read_text(encoding="utf-8"), contents))
    target = folder / f"{package}-{sha256(key.encode()).hexdigest()[:16]}"
    if not list(target.glob("*.whl")):
        for outdated in folder.glob(f"{package}-*"):
            shutil.rmtree(outdated)
        target.mkdir(parents=True)
        with TemporaryDirectory() as temporary:
            shutil.copy(wheel, temporary)
            script = compiler.with_name("run_in_pyodide.mjs")
            _run(_program("node"), str(script), str(pyodide), temporary, str(compiler))
            shutil.move(next(Path(temporary).glob("*.whl")), target)
    return next(target.glob("*.whl"))


def _imported_packages(name: str) -> set[str]:
    """Return a package with all packages that it requires without extras, apart from those that are not imported."""
    found = {name}
    for requirement in requires(name) or ():
        needed = re.split(r"[^\w.-]", requirement)[0].replace("-", "_")
        if "extra ==" not in requirement and needed not in NOT_IMPORTED:
            found |= _imported_packages(needed)
    return found


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not installed: install Node.js, which contains npm")
    return found


def _download(*command: str) -> None:
    try:
        _run(*command)
    except CommandError as error:
        raise UnavailableError(str(error)) from None


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")[-2000:]
        raise CommandError(f"{' '.join(command[:4])} ... failed: {reason}")


def main() -> int:
    """Build the playground in the folder of the command line; print a diagnostic if that is impossible."""
    parser = ArgumentParser(prog="python -m sdy.tools.playground.build", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder to write")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of downloads")
    parser.add_argument("--if-possible", action="store_true", help="succeed without npm, node or the network")
    arguments = parser.parse_args()
    try:
        build(arguments.folder, arguments.cache)
    except UnavailableError as error:
        print(f"the playground is not built: {error}", file=sys.stderr)
        return 0 if arguments.if_possible else 1
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
