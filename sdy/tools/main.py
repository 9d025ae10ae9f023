"""The `sdy` command. Each subcommand is a separate module, which is imported when the subcommand is called."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import sdy
from sdy.diagnostics.diagnostic import Diagnostic, render
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.unregistered import allow_unregistered_dialects
from sdy.tools.command_line.environment import configure_logging
from sdy.tools.command_line.exit_codes import NOT_RUN, SUCCESS, quiet_on_broken_pipe, status_of
from sdy.tools.command_line.extensions import load_extensions

GROUPS = {
    "check": {
        "verify": "partition a program, run it on simulated devices, and compare with a run on one device; or prove it",
        "check": "check that a program keeps a contract: bounds on communication, memory and time, and shardings",
        "audit": "check sharding rules by running ops, and propose rules for custom calls",
    },
    "see": {
        "report": "show shardings, collectives and conflicts, as text or HTML, and next to what XLA makes of a program",
        "explain": "explain which annotations the sharding of a value comes from, and list conflicts",
        "cost": "estimate how long a program takes on a machine, and whether it fits in memory",
        "calibrate": "fit a machine to measured times of collectives, products and copies",
        "diff": "show how two programs differ in shardings, collectives, time and memory",
    },
    "choose": {
        "lint": "find avoidable communication, computation and memory, and fix annotations",
        "search": "find the best shardings of a program on a machine, or compare all meshes and several machines",
        "apply": "shard a program step by step, and show what each step costs",
    },
    "interoperate": {
        "partition": "write the program that each device runs",
        "notation": "convert a sharding between notations: sdy, PartitionSpec, HLO, subscripts",
        "examples": "list the example programs of the package, and copy one",
        "lsp": "answer an editor in the language server protocol: errors, shardings, completion, fixes",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
OPTIONS = {
    "--completion SHELL": "print a script with which bash, zsh or fish completes commands and options",
    "--version, -V": "print the version",
    "--help, -h": "print this text; after a command, its arguments and options",
}
# Names of earlier versions, which work for one release, and the first words of the command line that they stand for.
OLD_NAMES = {
    "prove": ("verify", "--prove"),
    "sweep": ("search", "--sweep"),
    "compare": ("report", "--compare"),
    "completion": ("--completion",),
}
PROGRAM_SUFFIXES = (".mlir", ".mlirbc", ".txt", ".pb", ".py", ".gz")


class Subcommand(Protocol):
    """The interface of the module of a subcommand."""

    def parser(self) -> ArgumentParser:
        """Return the argument parser of the subcommand."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Run the subcommand, and return its exit code."""
        ...


@quiet_on_broken_pipe
def main(args: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code: 0, 1 if a check says no, or 2 if it could not be run."""
    args = list(sys.argv[1:] if args is None else args)
    if args and args[0] in OLD_NAMES:
        args[:1] = OLD_NAMES[args[0]]
    if args and args[0].startswith("--completion"):
        return status_of(lambda: _run("completion", args[0].split("=")[1:] + args[1:]))
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return SUCCESS if args else NOT_RUN
    if args[0] in ("-V", "--version"):
        print(f"sdy {sdy.__version__}")
        return SUCCESS
    name = args[0]
    if name not in COMMANDS:
        print(render(_unknown_command(name)), file=sys.stderr)
        return NOT_RUN
    return status_of(lambda: _run(name, args[1:]))


def _run(name: str, args: Sequence[str]) -> int:
    command = subcommand(name)
    configure_logging()
    modules, remaining = load_extensions(args)
    parsed = command.parser().parse_intermixed_args(remaining, Namespace(load=modules))
    allow_unregistered_dialects(parsed.allow_unregistered_dialect)
    if name == "lsp" or not sys.stderr.isatty():
        return command.run(parsed)
    with import_module("sdy.report.progress_line").show_progress():  # imported where it is needed
        return command.run(parsed)


def subcommand(name: str) -> Subcommand:
    """Import and return the module of a subcommand."""
    return cast(Subcommand, import_module(f"sdy.tools.{name}"))


def _unknown_command(name: str) -> Diagnostic:
    """Return the error for an unknown first argument."""
    if name.startswith("-"):
        hint = similar_name_hint(name, ("--help", "--version", "--completion")) or "see sdy --help"
        return Diagnostic("SDY-T002", f"unknown option {name}", hint=hint)
    hint = similar_name_hint(name, COMMANDS) or f"commands: {', '.join(COMMANDS)}"
    if Path(name).suffix in PROGRAM_SUFFIXES:
        hint = f"name a command before the file, for example: sdy verify {name}"
    return Diagnostic("SDY-T202", f"unknown command {name}", hint=hint)


def usage() -> str:
    """Return the text of `sdy --help`."""
    from sdy.tools.command_line.subcommand_parser import (  # imported here, because other commands need none
        help_width,
        wrapped,
    )

    tables = GROUPS | {"options": OPTIONS}
    text = "\n\n".join(
        (
            "usage: sdy COMMAND [options] FILE ...",
            "Shard tensor programs: from StableHLO with a few sharding annotations to one program per device.",
            *("\n".join((f"{title}:", *_rows(table))) for title, table in tables.items()),
            "Exit status: 0 for success, 1 if a check says no, 2 if the command could not be run.",
            "Run `sdy COMMAND --help` for details. See also `sdy-opt` (passes) and `sdy-run` (an interpreter).",
            old_names(),
        )
    )
    return wrapped(text, help_width())


def old_names() -> str:
    """Return a sentence that lists the old names of commands."""
    names = ", ".join(f"{name} ({' '.join(words)})" for name, words in OLD_NAMES.items())
    return f"Old names, for one release: {names.replace('--compare', '--with')}."


def _rows(table: Mapping[str, str]) -> Iterator[str]:
    return (f"  {name:18}  {text}" for name, text in table.items())


if __name__ == "__main__":
    sys.exit(main())
