"""The `sdy` command. Each subcommand is a module of its own, imported when it is called."""

from __future__ import annotations

import difflib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.render import render
from sdy.tools.command_line.broken_pipe import ends_with_its_reader
from sdy.tools.command_line.extensions import without_extensions

COMMANDS = {
    "verify": "partition a program, run it on simulated devices, compare with one device",
    "partition": "write the program that each device runs",
    "report": "show shardings, collectives, memory and conflicts: as text, or as one page for a browser",
    "cost": "tell how long a program takes on a machine, and whether it fits in memory",
    "explain": "tell which annotation brought which axis to a value, and where axes were refused",
    "notation": "write a sharding in all notations: sdy, PartitionSpec, HLO, subscripts",
}
INTERRUPTED = 130  # as shells report it


class Subcommand(Protocol):
    """What a module of a subcommand has."""

    def parser(self) -> ArgumentParser:
        """Its arguments."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Do it; the exit code."""
        ...


@ends_with_its_reader
def main(words: Sequence[str] | None = None) -> int:
    """Run the words of a command line. The exit code: 0; 1 where something failed; 2 where the words are wrong."""
    given = list(sys.argv[1:] if words is None else words)
    if not given or given[0] in ("-h", "--help"):
        print(usage())
        return 0 if given else 2
    name = given[0]
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"commands: {', '.join(COMMANDS)}"
        print(render(Diagnostic("SDY-T202", f"no command is called {name}", hint=hint)), file=sys.stderr)
        return 2
    command = cast(Subcommand, import_module(f"sdy.tools.{name}"))
    try:
        return command.run(command.parser().parse_args(without_extensions(given[1:])))
    except SdyError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def usage() -> str:
    """What `sdy --help` prints."""
    commands = "\n".join(f"  {name:10} {text}" for name, text in COMMANDS.items())
    return (
        "usage: sdy COMMAND [options] FILE\n\n"
        "Shard tensor programs: from StableHLO with a few sharding annotations to one program per device.\n\n"
        f"commands:\n{commands}\n\n"
        "`sdy COMMAND --help` explains one. `sdy-opt` runs single passes, `sdy-run` interprets a module."
    )


if __name__ == "__main__":
    sys.exit(main())
