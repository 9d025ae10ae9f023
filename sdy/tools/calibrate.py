"""`sdy calibrate`: fits a machine to measurements."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from sdy.cost.hardware import Hardware
from sdy.cost.machines.calibration import Measurement, calibrated, errors_of, read_measurements
from sdy.cost.machines.file import machine_toml, resolve_hardware
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.toml_tables import file_text
from sdy.documents.document import document
from sdy.report.tables.fitted_table import FittedTable, fitted_table, print_tables
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Fit a machine to measurements of your own, and print its error before and after.

  sdy calibrate times.csv --on h100 --output mine.toml
  sdy cost program.mlir --on mine.toml

A row of the CSV is a collective (columns collective, devices, bytes), a product (op matmul, m, n, k, dtype) or
another op on arrays (op copy, scale, add, triad or dot, operand_bytes), with its seconds, and perhaps its machine.
Bandwidths and rates of the data sheet, and what no row tells, stay as --on has them (docs/costs.md).
"""


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("calibrate", DESCRIPTION)
    parser.add_argument("files", nargs="*", metavar="FILE", help="CSV files of measurements")
    parser.add_argument("--on", metavar="MACHINE", help="the data sheet: the name of a machine, or FILE.toml")
    parser.add_argument("--machine", metavar="NAME", help="fit to the rows of this machine (default: that of --on)")
    parser.add_argument("--output", "-o", metavar="FILE.toml", help="write the machine to this file")
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Fit a machine, and print the errors before and after."""
    if not arguments.files or arguments.on is None:
        hint = "for example: sdy calibrate times.csv --on h100 --output mine.toml"
        raise SdyError(Diagnostic("SDY-T204", "sdy calibrate requires files and --on MACHINE", hint=hint))
    hardware = resolve_hardware(arguments.on)
    rows = [row for file in arguments.files for row in read_measurements(file_text(file, "SDY-T001"), file)]
    rows = _chosen(rows, arguments.machine or hardware.name)
    found = calibrated(hardware, rows)
    if arguments.json:
        errors = {"before": errors_of(hardware, rows), "after": errors_of(found, rows)}
        print_json(document("Calibration", found, **errors))
    else:
        print_tables(console_of(arguments), _errors_table(hardware, found, rows))
    if arguments.output is not None:
        fits = (
            f"{each.kind}: {each.count} measurements, half of them within {each.median:.1%}"
            for each in errors_of(found, rows)
        )
        write_text(arguments.output, machine_toml(found, (f"{hardware.name}, fitted by sdy calibrate", *fits)))
    return SUCCESS


def _chosen(rows: Sequence[Measurement], name: str) -> list[Measurement]:
    """Return the rows of a machine; all of them if they are of one."""
    names = {each.machine for each in rows}
    is_of_several = name in names or len(names) > 1
    chosen = [each for each in rows if not is_of_several or each.machine in ("", name)]
    if not chosen:
        message = f"no measurement is of {name}, but of {', '.join(sorted(names))}"
        raise SdyError(Diagnostic("SDY-T233", message, hint="choose one with --machine NAME"))
    return chosen


def _errors_table(before: Hardware, after: Hardware, rows: Sequence[Measurement]) -> FittedTable:
    pairs = zip(errors_of(before, rows), errors_of(after, rows), strict=True)
    cells = (
        (old.kind, str(old.count), *(f"{each:.1%}" for each in (old.median, old.most, new.median, new.most)))
        for old, new in pairs
    )
    columns = ("measurements", "rows", "before: median", "90 % within", "after: median", "90 % within")
    return fitted_table(f"errors of {before.name}", columns, cells, right=(1, 2, 3, 4, 5))
