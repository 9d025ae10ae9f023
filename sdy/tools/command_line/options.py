"""The options of `sdy-opt` and `sdy-run`, which begin with one dash or two: their values, their names, and errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.similar_names import similar_name_hint

SHORT_NAMES = {"h": "help"}


def split_option(argument: str) -> tuple[str, str | None]:
    """Return the name of an option, in full, and the value after `=`; None without `=`."""
    name, has_value, value = argument.lstrip("-").partition("=")
    return SHORT_NAMES.get(name, name), value if has_value else None


def next_value(name: str, rest: Iterator[str], descriptions: Mapping[str, str]) -> str:
    """Return the next argument, which is the value of option `name`. Raises: SdyError SDY-T002 without one."""
    value = next(rest, None)
    if value is None:
        raise argument_error(f"--{name} requires a value", descriptions[name])
    return value


def only_file(files: Sequence[str]) -> str:
    """Return the input file; `-` without one. Raises: SdyError SDY-T002 if there are several files."""
    if len(files) > 1:
        raise argument_error(f"expected one input file, got {len(files)}: {', '.join(files)}", "see --help")
    return files[0] if files else "-"


def unknown_option(argument: str, known: Iterable[str]) -> SdyError:
    """Return the error for an option that is not among the known names."""
    name, _ = split_option(argument)
    return argument_error(f"unknown option {argument}", similar_name_hint(name, known, "--") or "see --help")


def argument_error(message: str, hint: str | None = None) -> SdyError:
    """Return the error for wrong arguments."""
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))


def print_help(usage: str, descriptions: Mapping[str, str], passes: Sequence[str] = ()) -> None:
    """Print the help of a tool: its usage and purpose, its options, and its passes if it has any."""
    from sdy.tools.command_line.help_text import help_width, wrapped  # imported here, because other calls do without it

    lines = [usage, "", "options:", *(f"  --{name:28}  {text}" for name, text in descriptions.items())]
    if passes:
        lines += ["", "passes, with options as --pass='a=b c=d':", *(f"  --{name}" for name in passes)]
    print(wrapped("\n".join(lines), help_width()))
