"""Collect the file tests, which are the `.mlir` files with RUN lines in tests/filecheck, and mark the tests of JAX."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import pytest
from hypothesis import settings
from support.file_tests.run_lines import first_failure, run_lines
from support.file_tests.update import update

from sdy.dialects.ir import gc_pause
from sdy.dialects.ir.walk import pre_order
from sdy.passes.rewriting.op_order import OpOrder, OrderCache

# How long an example takes says more about the machine than about the code.
settings.register_profile("sdy", deadline=None)
settings.load_profile("sdy")
# Tests start a hundred processes. Where Python writes no bytecode beside modules, each would compile them all again.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}
# Before anything imports JAX: how many devices it has is settled when it is first used.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

# Doctests import each module; these need libraries that may be missing, and are imported by tests/corpus.
collect_ignore_glob = ["support/library_programs/*"]
FILE_TESTS = Path(__file__).parent / "filecheck"
JAX_IMPORT = re.compile(
    r"""^\s*(?:from|import) (?:jax|jaxlib|support\.(?:jax_programs|library_programs|oracle))\b|importorskip\("jax""",
    re.MULTILINE,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="rewrite the CHECK lines of file tests and the outputs in docs to what is printed now; read the diff",
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run the tests of a single file in this process: starting workers would take longer than most files."""
    names = {argument.partition("::")[0] for argument in config.args}
    is_one_file = len(names) == 1 and Path(names.pop()).is_file()
    return 0 if is_one_file or config.option.collectonly else None


@pytest.hookimpl(tryfirst=True)  # before the tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of modules that import JAX, or the oracle, with `jax`."""
    for item in items:
        if _imports_jax(item.path):
            item.add_marker(pytest.mark.jax)


@cache
def _imports_jax(path: Path) -> bool:
    return path.suffix == ".py" and JAX_IMPORT.search(path.read_text()) is not None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".mlir" or FILE_TESTS not in file_path.parents:
        return None
    return RunLinesFile.from_parent(parent, path=file_path)


class RunLinesFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        yield RunLinesItem.from_parent(self, name="RUN")


class RunLinesItem(pytest.Item):
    """All RUN lines of a file, in order."""

    funcargs: ClassVar[dict[str, object]] = {}  # pytest-lsp fails for items without this attribute

    def runtest(self) -> None:
        commands = run_lines(self.path)
        if not commands:
            pytest.fail("the file has no RUN line", pytrace=False)
        with TemporaryDirectory() as folder:
            scratch = Path(folder) / "t"
            if not self.config.getoption("update") or not update(self.path, scratch):
                failure = first_failure(commands, self.path, scratch)
                if failure is not None:
                    pytest.fail(failure.message, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(FILE_TESTS))


@pytest.fixture(autouse=True, scope="session")
def garbage_is_collected_seldom() -> Iterator[None]:
    """Collect garbage after more objects: with all that tests import and cache, a collection takes most of a second.

    Python itself would collect each time that a quarter of the objects is new, which `gc_pause` makes superfluous.
    """
    young, middle, old = gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc_pause, "MAX_UNCOLLECTED", 4 * gc_pause.MAX_UNCOLLECTED)
        gc.set_threshold(young, middle, 100 * old)
        yield
        gc.set_threshold(young, middle, old)


@pytest.fixture(autouse=True, scope="session")
def order_is_never_stale() -> Iterator[None]:
    """Check that every cached order of ops is the order of the module."""
    current = OrderCache.current

    def checked(cache: OrderCache) -> OpOrder:
        found = current(cache)
        assert found.ops == pre_order(cache.module)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OrderCache, "current", checked)
        yield
