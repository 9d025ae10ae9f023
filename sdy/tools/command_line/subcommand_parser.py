"""The argument parser of the subcommands of `sdy`: its errors are diagnostics with a hint, its help is wrapped."""

from __future__ import annotations

import re
from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter
from collections.abc import Iterable, Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, NoReturn

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.tools.command_line.environment import COLORS, default_color
from sdy.tools.command_line.extensions import LOAD_HELP, UNREGISTERED_HELP

_LEAST_WIDTH = 20  # of a column of a table
_COLUMN = re.compile(r"(^| ) +(?=\S)")

_UNRECOGNIZED = "unrecognized arguments: "


def arguments_of(parser: ArgumentParser) -> list[Action]:
    """Return the arguments of a parser that its help lists, except `--help`."""
    return [each for each in parser._actions if each.dest != "help" and each.help != SUPPRESS]


class SubcommandParser(ArgumentParser):
    """Parses the arguments of one subcommand.

    Raises: SdyError SDY-T002 if an option is unknown, SDY-T204 if the arguments are wrong in another way.
    """

    def __init__(self, name: str, description: str) -> None:
        super().__init__(f"sdy {name}", description=description, formatter_class=WrappedHelp, allow_abbrev=False)
        # The program is compiled by the passes of sdy, unless the command has the arguments that choose others.
        self.set_defaults(no_optimizer=False, propagation=None, pass_pipeline=None)
        every = self.add_argument_group("options of every command")
        every.add_argument("--load", metavar="MODULE", action="append", default=[], help=LOAD_HELP)
        every.add_argument("--allow-unregistered-dialect", action="store_true", help=UNREGISTERED_HELP)
        every.add_argument(
            "--color",
            metavar="WHEN",
            choices=COLORS,
            default=default_color(),
            help=f"use colours: {', '.join(COLORS)} (default: $SDY_COLOR, or auto: in a terminal, without $NO_COLOR)",
        )

    def print_help(self, file: object = None) -> None:
        """Print the help to standard output, whose errors `ArgumentParser` would ignore."""
        print(self.format_help(), end="")

    def error(self, message: str) -> NoReturn:
        """Raise the error as a diagnostic."""
        if message.startswith(_UNRECOGNIZED):
            option = message.removeprefix(_UNRECOGNIZED).split()[0]
            if not option.startswith("-"):
                raise SdyError(Diagnostic("SDY-T204", f"unexpected argument {option}", hint=f"see {self.prog} --help"))
            hint = similar_name_hint(option.partition("=")[0], self._option_string_actions)
            raise SdyError(Diagnostic("SDY-T002", f"unknown option {option}", hint=hint or f"see {self.prog} --help"))
        raise SdyError(Diagnostic("SDY-T204", message, hint=f"see {self.prog} --help"))


def help_width() -> int:
    """Return the number of columns that a line of help may have."""
    return get_terminal_size().columns


class WrappedHelp(HelpFormatter):
    """Formats the help of a command, whose description has paragraphs and tables."""

    def add_usage(
        self, usage: str | None, actions: Iterable[Action], groups: Iterable[Any], prefix: str | None = None
    ) -> None:
        """Show the options of every command last."""
        super().add_usage(usage, sorted(actions, key=lambda each: each.dest in ("load", "color")), groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped(text, width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


def wrapped(text: str, width: int) -> str:
    """Return a text with wrapped paragraphs. Lines that begin with spaces are rows of a table, wrapped one by one."""
    return "\n\n".join("\n".join(_paragraph(part.splitlines(), width)) for part in text.strip().split("\n\n"))


def _paragraph(lines: list[str], width: int) -> Iterator[str]:
    text: list[str] = []
    for line in lines:
        if not line.startswith(" "):
            text.append(line)
            continue
        yield from wrap(" ".join(text), width)
        text = []
        yield from _row(line, width)
    yield from wrap(" ".join(text), width)


def _row(line: str, width: int) -> list[str]:
    """Wrap a row of a table, whose columns are separated by two spaces: below its last column that has enough room."""
    starts = [match.end() for match in _COLUMN.finditer(line)]
    start = max((each for each in starts if width - each >= _LEAST_WIDTH), default=0)
    first, *others = wrap(line[start:], width - start, break_on_hyphens=False)
    return [line[:start] + first, *(" " * start + other for other in others)]
