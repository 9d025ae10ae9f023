"""User code that registers dialects, passes and strategies, imported before other arguments are parsed.

All modules that are named in these places are imported, each once, in this order: entry points of installed packages,
pyproject.toml, the environment, the command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple, cast

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span
from sdy.diagnostics.toml_tables import Table, nearest_pyproject, read_table, read_toml, span_of_entry
from sdy.diagnostics.user_code import user_code_error
from sdy.tools.command_line.environment import LOAD

GROUP = "sdy.extensions"  # of entry points
OPTION = "load"
LOAD_HELP = (
    f"first import a module or a .py file that registers dialects, passes or strategies; may be repeated. Those of the "
    f"entry points {GROUP}, of the key load of [tool.sdy] in the nearest pyproject.toml, and of ${LOAD} come first"
)


class Extension(NamedTuple):
    """A module or a .py file to import, and the place that names it."""

    module: str
    origin: str
    span: Span | None = None


def load_extensions(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Import all extensions, those of each `--load=MODULE` or `--load MODULE` last.

    Return the modules in order, without duplicates, and the arguments without `--load`.
    Raises: SdyError SDY-T008 if a module name is missing, or if a module cannot be imported.
    """
    loaded, remaining = _separate(args)
    found: dict[str, Extension] = {}
    for extension in (*_entry_points(), *_in_pyproject(), *_in_environment(), *loaded):
        found.setdefault(extension.module, extension)
    for extension in found.values():
        _load(extension)
    return list(found), remaining


def import_extensions(modules: Sequence[str]) -> None:
    """Import modules in order, as another process did. Raises: as `load_extensions`."""
    for module in modules:
        _load(Extension(module, f"--{OPTION}"))


def _separate(args: Sequence[str]) -> tuple[list[Extension], list[str]]:
    """Return the module of each `--load`, and the remaining arguments."""
    loaded: list[Extension] = []
    remaining: list[str] = []
    rest = iter(args)
    for arg in rest:
        name, has_value, value = arg.partition("=")
        if name not in (f"-{OPTION}", f"--{OPTION}"):
            remaining.append(arg)
            continue
        module = value if has_value else next(rest, "")
        if not module:
            hint = "write --load=package.module or --load=file.py"
            raise SdyError(Diagnostic("SDY-T008", f"--{OPTION} requires a module name", hint=hint))
        loaded.append(Extension(module, f"--{OPTION}"))
    return loaded, remaining


def _entry_points() -> Iterator[Extension]:
    """Yield the modules that installed packages name under `[project.entry-points."sdy.extensions"]`."""
    if not any(map(_names_extensions, sys.path)):
        return
    from importlib.metadata import entry_points  # imported here, because it takes long

    for each in sorted(entry_points(group=GROUP)):
        package = "an unknown package" if each.dist is None else each.dist.name
        yield Extension(each.module, f"the entry point {each.name} of {package}")


def _names_extensions(folder: str) -> bool:
    """Return whether a package that is installed in a folder of `sys.path` has an entry point of the group."""
    try:
        names = [name for name in os.listdir(folder or ".") if name.endswith(("dist-info", "egg-info"))]
    except OSError:
        return False
    return any(f"[{GROUP}]".encode() in _bytes(os.path.join(folder, name, "entry_points.txt")) for name in names)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _in_pyproject() -> Iterator[Extension]:
    """Yield the modules in the list `load` of `[tool.sdy]` of the pyproject.toml in or above the working directory.

    Paths of files are relative to the folder of pyproject.toml.
    """
    path = nearest_pyproject(Path.cwd())
    text = "" if path is None else _bytes(str(path)).decode(errors="replace")
    if path is None or "sdy" not in text or OPTION not in text:
        return
    span = span_of_entry(("sdy", OPTION), text, str(path))
    for module in read_toml(text, str(path), "SDY-T240", _modules):
        is_file = module.endswith(".py")
        yield Extension(str(path.parent / module) if is_file else module, "[tool.sdy] in pyproject.toml", span)


def _modules(project: Table) -> list[str]:
    tools = project.get("tool")
    ours = cast(Table, tools).get("sdy") if isinstance(tools, Mapping) else None
    found = read_table({} if ours is None else ours, {OPTION: _names, "lint": lambda table: table}, ("tool", "sdy"))
    return cast("list[str]", found.get(OPTION, []))


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
        raise ValueError(f"expected a list of modules or .py files, got {value!r}")
    return cast("list[str]", value)


def _in_environment() -> Iterator[Extension]:
    for module in filter(None, os.environ.get(LOAD, "").split(",")):
        yield Extension(module, f"${LOAD}")


def _load(extension: Extension) -> None:
    module = extension.module
    named = f"{module}, named by {extension.origin}"
    try:
        if module.endswith(".py"):
            _load_file(Path(module))
        else:
            import_module(module)
    except SdyError as error:
        note = Note(f"while loading {named}", extension.span)
        first, *others = error.diagnostics
        raise SdyError(replace(first, notes=(*first.notes, note)), *others) from error
    except ModuleNotFoundError as error:
        raise _error(extension, f"cannot load {named}: {error}", "is it on the Python path?") from None
    except OSError as error:
        raise _error(extension, f"cannot load {named}: {error}", "check the path of the file, or rename it") from None
    except Exception as error:  # the code of the user may raise anything
        sys.modules.pop(Path(module).stem, None)
        raise user_code_error("SDY-T008", f"loading {named}", error, "fix the error in the module") from error


def _load_file(path: Path) -> None:
    """Import a file as a module named after it, unless it was imported before: it can register its names only once."""
    if not path.exists():
        raise FileNotFoundError(f"file {path} does not exist")
    if path.stem in sys.modules:
        file = getattr(sys.modules[path.stem], "__file__", None)
        if file is None or not path.samefile(file):
            raise FileExistsError(f"another module named {path.stem} is imported already")
        return
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)


def _error(extension: Extension, message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T008", message, extension.span, hint=hint))
