"""`sdy check`: checks that a program keeps a contract."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sdy.advice.contract import Breach, Contract, contract_of, diagnostics_of
from sdy.advice.contract_file import read_contract, write_contract
from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.report.similar_entries import on_one_screen
from sdy.tools.command_line.arguments import add_format_argument, default_machine, print_json
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.github import annotation
from sdy.tools.command_line.loading import (
    add_compile_arguments,
    with_lines,
    with_program,
)
from sdy.tools.command_line.several_files import SEVERAL_FILES, add_files_argument, run_files
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = f"""\
Partition a program and check that it keeps a contract: upper bounds on its collectives, on the bytes that each device
sends, on peak memory and on the predicted time, and the shardings that values must have. Each broken bound is reported
with the collectives that break it, their lines, and what brought them about.

Write the contract of a program as it is now with --update, and edit it as you like: it is a TOML file.

{SEVERAL_FILES}

Machines: {", ".join(HARDWARE)}.
Exit status: 0 if the contract holds, 1 if it is broken, 2 if it could not be checked.
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("check", DESCRIPTION)
    add_files_argument(parser)
    parser.add_argument("--contract", metavar="TOML", required=True, help="the file of the contract")
    parser.add_argument("--update", action="store_true", help="write the contract that the program keeps now")
    parser.add_argument("--on", metavar="MACHINE", help="with --update, the machine of the predicted time")
    add_compile_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print all broken bounds, however many")
    add_format_argument(parser, "--format", "the broken bounds")
    return parser


def run(arguments: Namespace) -> int:
    """Check each program, or write the contract of one."""
    is_json = arguments.format == "json"
    return run_files(arguments, _check_file, for_one_file=("update",), is_json=is_json, title="", separator="")


def _check_file(arguments: Namespace) -> int:
    if arguments.update:
        machine = arguments.on or default_machine()
        contract = with_program(arguments, lambda program: contract_of(program.partition_summary(machine)))
        if Path(arguments.contract).exists():
            old = read_contract(read_text(arguments.contract), arguments.contract)
            contract = replace(contract, tolerance=old.tolerance)
        write_text(arguments.contract, write_contract(contract))
        if arguments.format == "json":
            _print([], arguments, "")
        return SUCCESS
    contract = _read(arguments)
    program, found = with_program(arguments, lambda program: (program, program.breaches(contract)), is_priced=True)
    _print(found, arguments, str(program))
    return NO if found else SUCCESS


def _read(arguments: Namespace) -> Contract:
    if arguments.on is not None:
        hint = "a contract names its machine itself"
        raise SdyError(Diagnostic("SDY-T204", "--on requires --update", hint=hint))
    return read_contract(read_text(arguments.contract), arguments.contract)


def _print(found: Sequence[Breach], arguments: Namespace, text: str) -> None:
    diagnostics = [with_lines(each, arguments.file, text.splitlines()) for each in diagnostics_of(found)]
    match arguments.format:
        case "json":
            print_json({"holds": not found, "broken": [each.to_json() for each in found]})
        case "github":
            print("\n".join(map(annotation, diagnostics)), end="\n" if found else "")
        case _:
            texts = [render(diagnostic) for diagnostic in diagnostics]
            for text in on_one_screen(texts, verbose=arguments.verbose):
                print(text, file=sys.stderr)
            if not found:
                print(f"{arguments.file} keeps {arguments.contract}")
