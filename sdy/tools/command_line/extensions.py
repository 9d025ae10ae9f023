"""`--load MODULE`: imports user code that registers dialects and passes, before other arguments are parsed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import user_code_error

OPTION = "load"


def load_extensions(args: Sequence[str]) -> list[str]:
    """Import the module of each `--load=MODULE` or `--load MODULE` in order, and return the remaining arguments.

    Raises: SdyError SDY-T008 if a module name is missing, or if a module cannot be imported.
    """
    modules, remaining = separate_extensions(args)
    import_extensions(modules)
    return remaining


def separate_extensions(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the module of each `--load`, and the remaining arguments. Raises: as `load_extensions`."""
    modules: list[str] = []
    remaining: list[str] = []
    rest = iter(args)
    for arg in rest:
        name, has_value, value = arg.partition("=")
        if name not in (f"-{OPTION}", f"--{OPTION}"):
            remaining.append(arg)
            continue
        modules.append(value if has_value else next(rest, ""))
        if not modules[-1]:
            raise _error(f"--{OPTION} requires a module name", "write --load=package.module or --load=file.py")
    return modules, remaining


def import_extensions(modules: Sequence[str]) -> None:
    """Import modules in order. Raises: as `load_extensions`."""
    for module in modules:
        _load(module)


def _load(module: str) -> None:
    try:
        if module.endswith(".py"):
            _load_file(Path(module))
        else:
            import_module(module)
    except SdyError:
        raise
    except ModuleNotFoundError as error:
        raise _error(f"cannot load {module}: {error}", "is it on the Python path?") from None
    except OSError as error:
        raise _error(f"cannot load {module}: {error}", "check the path of the file") from None
    except Exception as error:  # the code of the user may raise anything
        sys.modules.pop(Path(module).stem, None)
        raise user_code_error("SDY-T008", f"loading {module}", error, "fix the error in the module") from error


def _load_file(path: Path) -> None:
    """Import a file as a module named after it, unless it was imported before: it can register its names only once."""
    if path.stem in sys.modules:
        return
    if not path.exists():
        raise FileNotFoundError(f"file {path} does not exist")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)


def _error(message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T008", message, hint=hint))
