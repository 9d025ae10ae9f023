"""The command lines of `sdy-opt` and `sdy-run`: one file, and options that begin with one dash or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint

SHORT_NAMES = {"h": "help"}
_TRUE, _FALSE = ("true", "1"), ("false", "0")


class ToolOptions(NamedTuple):
    """The options of a tool, and its usage and purpose, for its help. `flags` and `values` describe each option."""

    usage: str
    flags: Mapping[str, str]
    values: Mapping[str, str]


class ToolArguments(NamedTuple):
    """The arguments of one call of a tool. `passes` has the name and the options of each pass, in order."""

    file: str
    flags: Mapping[str, str]
    values: Mapping[str, str]
    passes: Sequence[tuple[str, str]]

    def has(self, flag: str, default: bool = False) -> bool:
        """Return the value of a flag, or `default` if it is not on the command line."""
        return self.flags[flag] not in _FALSE if flag in self.flags else default


def parse_arguments(
    tool: ToolOptions, args: Sequence[str], passes: Collection[str] = (), other_values: Mapping[str, str] | None = None
) -> ToolArguments:
    """Parse the arguments of a command line, on which passes are flags that may have options.

    A flag may be true or false, or have its value in `other_values`.
    Raises: SdyError SDY-T002 if an option is unknown, if a value is missing or wrong, or if there are several files.
    """
    files: list[str] = []
    flags: dict[str, str] = {}
    values: dict[str, str] = {}
    requests: list[tuple[str, str]] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            files += rest
        elif arg == "-" or not arg.startswith("-"):
            files.append(arg)
        else:
            name, has_value, value = arg.lstrip("-").partition("=")
            name = SHORT_NAMES.get(name, name)
            if name in passes:
                requests.append((name, value))
            elif name in tool.flags:
                if has_value and value not in (*_TRUE, *_FALSE, (other_values or {}).get(name)):
                    raise argument_error(f"expected true or false for --{name}, got {value!r}")
                flags[name] = value or "true"
            elif name in tool.values:
                values[name] = value if has_value else next(rest, "")
                if not (has_value or values[name]):
                    raise argument_error(f"--{name} requires a value", tool.values[name])
            else:
                known = [*tool.flags, *tool.values, *passes]
                raise argument_error(f"unknown option {arg}", similar_name_hint(name, known, "--") or "see --help")
    if len(files) > 1:
        raise argument_error(f"expected one input file, got {len(files)}: {', '.join(files)}", "see --help")
    return ToolArguments(files[0] if files else "-", flags, values, requests)


def argument_error(message: str, hint: str | None = None) -> SdyError:
    """Return the error for wrong arguments."""
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))


def print_help(tool: ToolOptions, passes: Sequence[str] = ()) -> None:
    """Print the help of a tool: its usage and purpose, its options, and its passes if it has any."""
    from sdy.tools.command_line.help_text import help_width, wrapped  # imported here, because other calls do without it

    options = {**tool.values, **tool.flags}
    lines = [tool.usage, "", "options:", *(f"  --{name:28}  {text}" for name, text in options.items())]
    if passes:
        lines += ["", "passes, with options as --pass='a=b c=d':", *(f"  --{name}" for name in passes)]
    print(wrapped("\n".join(lines), help_width()))
