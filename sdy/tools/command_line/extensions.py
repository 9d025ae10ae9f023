"""`--load MODULE`: code of the user, imported before anything else is read, that registers dialects and passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

OPTION = "load"


def without_extensions(words: Sequence[str]) -> list[str]:
    """The words that are left once each `--load=MODULE` or `--load MODULE` has been obeyed, in order.

    Raises: SdyError SDY-T008 where a module is missing, or cannot be imported.
    """
    left: list[str] = []
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name not in (f"-{OPTION}", f"--{OPTION}"):
            left.append(word)
            continue
        module = value if has_value else next(rest, "")
        if not module:
            raise _error(f"--{OPTION} needs the name of a module", "write --load=package.module or --load=file.py")
        _load(module)
    return left


def _load(module: str) -> None:
    try:
        if module.endswith(".py"):
            _load_file(Path(module))
        else:
            import_module(module)
    except (ImportError, OSError, SyntaxError, ValueError) as error:
        raise _error(f"cannot load {module}: {error}", "is it on the Python path?") from None


def _load_file(path: Path) -> None:
    """Import a file under its own name; once, for what it registers can be registered once."""
    if path.stem in sys.modules:
        return
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    sys.modules[path.stem] = found
    spec.loader.exec_module(found)


def _error(message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T008", message, hint=hint))
