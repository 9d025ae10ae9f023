"""`sdy lsp`: answers an editor in the language server protocol, over standard input and output."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.tools.command_line.environment import machine
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.extensions import import_extensions
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Answer an editor in the language server protocol, over standard input and output: errors while you type, the sharding of
each value in the text and on hover, completion, symbols, definitions, uses and new names, the fixes of `sdy lint`, and
the program of one device. docs/guides/editors.md configures VS Code, Neovim and Emacs. Needs pygls: pip install
'sdy[lsp]'.
"""
_PACKAGES = ("pygls", "lsprotocol")


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("lsp", DESCRIPTION)
    parser.add_argument("--stdio", action="store_true", help="ignored, because some editors pass it")
    parser.add_argument(
        "--on", metavar="MACHINE", help="the machine that lint predicts times for (default: $SDY_MACHINE)"
    )
    return parser


def run(arguments: Namespace) -> int:
    """Answer until the editor ends the connection."""
    try:
        server = import_module("sdy.language_server.server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        message, hint = "sdy lsp requires pygls, which is not installed", "pip install 'sdy[lsp]'"
        raise SdyError(Diagnostic("SDY-N410", message, hint=hint)) from None
    # Nothing else may write to the connection, and nothing is left to write when the editor has closed it.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output, redirect_stdout(sys.stderr):
        prepare = partial(import_extensions, arguments.load, arguments.allow_unregistered_dialect)
        server.make_server(arguments.on or machine(), prepare).start_io(stdout=output)
    return SUCCESS
