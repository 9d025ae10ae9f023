"""Requests for passes, as command lines and pipelines write them: a name, and options as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

# A value contains no blanks unless it is quoted or enclosed in one pair of braces.
_OPTION = r"""\s*(?P<key>[\w-]+)(?:=(?:'(?P<s>[^']*)'|"(?P<d>[^"]*)"|\{(?P<b>[^{}]*)\}|(?P<plain>[^\s]*)))?"""


class PassRequest(NamedTuple):
    """A pass that the user requests: its name, and its options as written."""

    name: str
    options: Mapping[str, str]


def parse_options(text: str) -> dict[str, str]:
    """Parse options such as `a=b flag c='d e'`; a key alone means true.

    Raises: SdyError SDY-T004 if the text is not a list of options.
    """
    option = re.compile(_OPTION)
    options: dict[str, str] = {}
    position, end = 0, len(text.rstrip())
    while position < end:
        match = option.match(text, position)
        if match is None:
            raise option_error(f"expected options as key=value, got {text!r}", "separate options by blanks")
        groups = [match[group] for group in ("s", "d", "b", "plain") if match[group] is not None]
        options[match["key"]] = groups[0] if groups else "true"
        position = match.end()
    return options


def write_options(options: Mapping[str, str]) -> str:
    """Return the text of options that `parse_options` reads. No value may contain quotes of both kinds and braces."""
    return " ".join(f"{key}={_quoted(value)}" for key, value in options.items())


def _quoted(value: str) -> str:
    """Return a value as it is if it contains neither blanks nor quotes nor braces, otherwise enclosed in quotes."""
    if re.fullmatch(r"[^\s'\"{}]+", value):
        return value
    for quote in "'\"":
        if quote not in value:
            return f"{quote}{value}{quote}"
    return f"{{{value}}}"


def option_error(message: str, hint: str | None) -> SdyError:
    """Return the error for an option of a pass."""
    return SdyError(Diagnostic("SDY-T004", message, hint=hint))
