"""`sdy --completion SHELL`: prints a script with which a shell completes commands, options, machines and files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import Protocol, cast

from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_names
from sdy.tools import sdy_run
from sdy.tools.command_line import opt_arguments
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.subcommand_parser import SubcommandParser, arguments_of
from sdy.tools.main import COMMANDS, subcommand

DESCRIPTION = """\
Print the script with which a shell completes the commands and options of sdy, the names of machines, and files. Needs
shtab: pip install 'sdy[completion]'.

  bash   sdy --completion bash > ~/.local/share/bash-completion/completions/sdy
  zsh    sdy --completion zsh > ~/.zfunc/_sdy          (a folder of $fpath)
  fish   sdy --completion fish > ~/.config/fish/completions/sdy.fish

With --tool, print the script for sdy-opt, which has the names of all passes, or for sdy-run.
"""
SHELLS = ("bash", "zsh", "fish")
TOOLS = ("sdy", "sdy-opt", "sdy-run")
# The arguments that name files.
FILES = {"file", "files", "old", "new", "output", "inputs", "local", "contract", "html", "trace", "load"}


class _Shtab(Protocol):
    """The interface of the package shtab. `FILE` has the completion of files in each shell."""

    FILE: dict[str, str]

    def complete(self, parser: ArgumentParser, shell: str) -> str:
        """Return the script for a shell."""
        ...


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("--completion", DESCRIPTION)
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.add_argument("--tool", choices=TOOLS, default="sdy", help="the tool to complete (default: sdy)")
    return parser


def run(arguments: Namespace) -> int:
    """Print the script."""
    try:
        shtab = cast(_Shtab, import_module("shtab"))
    except ModuleNotFoundError:
        message, hint = "sdy --completion requires shtab, which is not installed", "pip install 'sdy[completion]'"
        raise SdyError(Diagnostic("SDY-T260", message, hint=hint)) from None
    described = _sdy_parser(shtab) if arguments.tool == "sdy" else _tool_parser(arguments.tool, shtab)
    write_text("-", shtab.complete(described, arguments.shell).rstrip() + "\n")
    return SUCCESS


def _sdy_parser(shtab: _Shtab) -> ArgumentParser:
    """Return one parser for all commands of `sdy`."""
    combined = ArgumentParser("sdy")
    combined.add_argument("--version", action="store_true", help="print the version and exit")
    combined.add_argument("--completion", choices=SHELLS, help="print the script for a shell and exit")
    commands = combined.add_subparsers()
    for name, text in COMMANDS.items():
        own = subcommand(name).parser()
        _complete_values(own, shtab)
        commands.add_parser(name, parents=[own], add_help=False, help=text)
    return combined


def _tool_parser(tool: str, shtab: _Shtab) -> ArgumentParser:
    """Return a parser with the options of `sdy-opt` or `sdy-run`."""
    described, options = ArgumentParser(tool), opt_arguments.TOOL if tool == "sdy-opt" else sdy_run.TOOL
    described.add_argument("file", nargs="?", help="the program")
    for name, text in options.values.items():
        described.add_argument(f"--{name}", help=text)
    flags = {name: text for name, text in options.flags.items() if name != "help"}
    if tool == "sdy-opt":
        flags |= {name: f"run the pass {name}" for name in pass_names()}
    for name, text in flags.items():
        described.add_argument(f"--{name}", action="store_true", help=text)
    _complete_values(described, shtab)
    return described


def _complete_values(described: ArgumentParser, shtab: _Shtab) -> None:
    """Name the values of arguments that are files or machines."""
    for action in arguments_of(described):
        if action.dest in FILES:
            setattr(action, "complete", shtab.FILE)  # noqa: B010 an attribute that shtab reads
        elif action.dest == "on":
            action.choices = list(HARDWARE)
