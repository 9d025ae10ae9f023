"""The tables of `sdy partition --stats`, apart from the command, which starts faster without rich."""

from __future__ import annotations

from argparse import Namespace

from sdy.cost.statistics import Statistics
from sdy.report.tables.fitted_table import print_tables
from sdy.report.tables.program_tables import statistics_tables
from sdy.tools.command_line.output.console import console_of


def print_statistics(arguments: Namespace, statistics: Statistics) -> None:
    """Print the statistics of the program of one device, with or without colours as `--color` says."""
    print_tables(console_of(arguments), *statistics_tables(statistics))
