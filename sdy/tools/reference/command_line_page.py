"""Generates the reference page of the commands: usage, arguments, exit codes and environment variables."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from sdy.tools import sdy_run
from sdy.tools.command_line import opt_arguments
from sdy.tools.command_line.environment import VARIABLES
from sdy.tools.command_line.exit_codes import MEANINGS, TOOL_MEANINGS
from sdy.tools.command_line.options import ToolOptions
from sdy.tools.command_line.subcommand_parser import arguments_of
from sdy.tools.main import COMMANDS, GROUPS, old_names, subcommand
from sdy.tools.markdown import page, table

_TITLE = """\
# Command line

`sdy COMMAND FILE` answers one question about a program; `sdy-opt` runs passes, and `sdy-run` interprets a program. A
file is StableHLO text with shardings; `-` is standard input."""
_LOAD = """\
## Extensions

Before a command reads a program, it imports modules and `.py` files that register your
[dialects, passes and strategies](../extending.md). All that are named in these places are imported, in this order, and
each once:

1. the entry points `sdy.extensions` of installed packages: `[project.entry-points."sdy.extensions"]` in the
   pyproject.toml of a package, with a line `name = "package.module"`,
2. the list `load` in the table `[tool.sdy]` of the nearest pyproject.toml in or above the working directory:
   `load = ["package.module", "tools/dialect.py"]`, with files relative to its folder,
3. the environment variable `SDY_LOAD`, separated by commas,
4. `--load`, which may be repeated.

An extension that cannot be imported ends the command with a diagnostic that says where it is named."""
_OPT = "Read MLIR text, run passes on it, and print it."
_RUN = "Interpret a program, and print its results."
_EXIT_CODES = """\
## Exit codes

They are stable. Those of `sdy`:"""
_TOOL_EXIT_CODES = "Those of `sdy-opt` and `sdy-run`:"
_ENVIRONMENT = """\
## Environment variables

An option on the command line overrides a variable, and a variable overrides a file such as pyproject.toml. The modules
of `SDY_LOAD` are [added](#extensions) to the others."""


def command_line_page() -> str:
    """Return the text of the page."""
    rows = [
        (title, f"[`sdy {name}`](#sdy-{name})", text) for title, group in GROUPS.items() for name, text in group.items()
    ]
    return page(
        _TITLE,
        table(("to", "command", "what it does"), rows),
        old_names(),
        *(block for name in (*COMMANDS, "completion") for block in _command(name)),
        *_tool("sdy-opt", opt_arguments.TOOL, _OPT),
        "Each pass is a flag too: see [passes](passes.md).",
        *_tool("sdy-run", sdy_run.TOOL, _RUN),
        _LOAD,
        _EXIT_CODES,
        _codes(MEANINGS),
        _TOOL_EXIT_CODES,
        _codes(TOOL_MEANINGS),
        _ENVIRONMENT,
        table(("variable", "meaning"), ((f"`{name}`", text) for name, text in VARIABLES.items())),
    )


def _command(name: str) -> Iterator[str | list[str]]:
    parser = subcommand(name).parser()
    yield f"## {parser.prog}"
    yield f"```text\n{_usage(parser)}\n```"
    yield from _description(parser.description or "")
    yield table(("argument", "meaning"), _argument_rows(parser))


def _usage(parser: ArgumentParser) -> str:
    """Return the usage on one line, in the same form for all versions of Python."""
    return " ".join((parser.prog, *map(_usage_word, _arguments(parser))))


def _usage_word(action: Action) -> str:
    text = _option(action) if action.option_strings else _name(action)
    text += " ..." if action.nargs in ("+", "*") else ""
    return text if action.required else f"[{text}]"


def _arguments(parser: ArgumentParser) -> list[Action]:
    """Return the arguments: positional ones first, those of every command last."""
    return sorted(arguments_of(parser), key=lambda each: (bool(each.option_strings), each.dest in ("load", "color")))


def _argument_rows(parser: ArgumentParser) -> Iterator[tuple[str, str]]:
    for each in _arguments(parser):
        name = f"`{_option(each, ', ')}`" if each.option_strings else f"`{_name(each)}`"
        yield name, (each.help or "").replace("%%", "%")


def _option(action: Action, separator: str = "") -> str:
    names = separator.join(action.option_strings) if separator else action.option_strings[-1]
    return names if action.nargs == 0 else f"{names} {_name(action)}"


def _name(action: Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return f"{{{','.join(map(str, cast(Iterable[object], action.choices)))}}}"
    return action.dest.upper()


def _description(text: str) -> Iterator[str]:
    """Yield the paragraphs of a description; indented ones are tables of text."""
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        plain = [line for line in lines if not line.startswith("  ")]
        indented = [line for line in lines if line.startswith("  ")]
        if plain:
            yield "\n".join(plain)
        if indented:
            yield "\n".join(("```text", *indented, "```"))


def _tool(name: str, tool: ToolOptions, purpose: str) -> Iterator[str | list[str]]:
    yield f"## {name}"
    yield purpose
    yield table(
        ("option", "meaning"), ((f"`--{option}`", text) for option, text in {**tool.values, **tool.flags}.items())
    )


def _codes(meanings: Mapping[int, str]) -> list[str]:
    return table(("code", "meaning"), ((str(code), text) for code, text in meanings.items()))
