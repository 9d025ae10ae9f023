"""Replaces each wheel in /wheels by one with bytecode in place of the Python files, which starts three times as fast.

`build` runs this file in Pyodide, whose Python version the bytecode is for. Tracebacks keep names and line numbers.
"""

from __future__ import annotations

import compileall
import shutil
import sys
from pathlib import Path, PurePosixPath
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from zipfile import ZipFile

# Most of xDSL is dialects, passes and back ends that sdy does not import.
UNUSED = ("benchmarks", "docs", "scripts", "tests", "typings")
UNUSED_IN_XDSL = ("backend", "frontend", "interactive", "interpreters", "jit", "targets", "tools")
USED_IN_XDSL = {
    "dialects": ("__init__", "arith", "builtin", "func", "utils"),
    "transforms": ("__init__", "dead_code_elimination"),
}


def is_used(name: str) -> bool:
    """Return whether the page may import the file of that name in a wheel: `xdsl/dialects/builtin.py`."""
    match PurePosixPath(name).parts:
        case ("xdsl", folder, _, *_) if folder in UNUSED_IN_XDSL:
            return False
        case ("xdsl", folder, module, *_) if folder in USED_IN_XDSL:
            return PurePosixPath(module).stem in USED_IN_XDSL[folder]
        case (folder, *_):
            return folder not in UNUSED
        case _:
            return True


def compile_wheel(wheel: Path) -> None:
    """Replace a wheel by its bytecode, in a file whose name has the tag of this Python version."""
    name, version, *_ = wheel.name.split("-")
    with TemporaryDirectory() as folder:
        with ZipFile(wheel) as archive:
            archive.extractall(folder, filter(is_used, archive.namelist()))
        mode = PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(folder, quiet=1, legacy=True, stripdir=folder, invalidation_mode=mode)
        for source in Path(folder).rglob("*.py"):
            source.unlink()
        wheel.unlink()
        target = wheel.with_name(f"{name}-{version}-cp{sys.version_info.major}{sys.version_info.minor}-none-any")
        Path(shutil.make_archive(str(target), "zip", folder)).rename(f"{target}.whl")


if __name__ == "__main__":
    for path in list(Path("/wheels").glob("*.whl")):
        compile_wheel(path)
