"""The argument parser of the subcommands of `sdy`: its errors are diagnostics with a hint."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from typing import NoReturn

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.tools.command_line.environment import COLORS, default_color
from sdy.tools.command_line.extensions import LOAD_HELP
from sdy.tools.command_line.help_text import WrappedHelp

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
