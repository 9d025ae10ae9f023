"""The environment variables that the commands read: the defaults of options, and what a terminal can show."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint

MACHINE, COLOR, LOG, LOAD = "SDY_MACHINE", "SDY_COLOR", "SDY_LOG", "SDY_LOAD"
COLORS = ("auto", "always", "never")
LOG_LEVELS = ("debug", "info", "warning", "error")

VARIABLES = {
    MACHINE: "The default of `--on`: the name of a machine, or a TOML file that describes one.",
    COLOR: "The default of `--color`: `auto`, `always` or `never`.",
    LOG: "Print the log of the logger `sdy` to standard error, from this level on: `debug` has "
    "the time of each pass, and the traceback of an error in code of yours.",
    LOAD: "Modules and .py files to import first, separated by commas, in addition to those of `--load`.",
    "NO_COLOR": "If set to any text, `--color=auto` uses no colour (no-color.org).",
    "COLUMNS": "The width of tables and reports, instead of that of the terminal.",
}


def machine() -> str | None:
    """Return the machine that the environment names; None without one."""
    return os.environ.get(MACHINE) or None


def default_color() -> str:
    """Return the default of `--color`. Raises: SdyError SDY-T261 if the variable has another value."""
    return _choice(COLOR, COLORS) or COLORS[0]


def configure_logging() -> None:
    """Print the log to standard error if the environment has a level for it.

    Raises: SdyError SDY-T261 if the level is unknown.
    """
    level = _choice(LOG, LOG_LEVELS)
    if level is None:
        return
    logging = import_module("logging")  # imported here, because it takes long
    logger = logging.getLogger("sdy")
    logger.setLevel(level.upper())
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)


def _choice(variable: str, choices: Sequence[str]) -> str | None:
    """Return the value of a variable in lower case, which must be one of the choices; None if it is unset or empty."""
    text = os.environ.get(variable, "").lower()
    if text and text not in choices:
        expected = f"{', '.join(choices[:-1])} or {choices[-1]}"
        hint = similar_name_hint(text, choices) or f"unset {variable}"
        raise SdyError(Diagnostic("SDY-T261", f"{variable}: expected {expected}, got {text!r}", hint=hint))
    return text or None
