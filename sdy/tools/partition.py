"""`sdy partition`: write the program that each device runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from json import dumps

from rich.console import Console

from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.module_text import print_module
from sdy.report.tables import statistics_tables
from sdy.tools.files import write_text
from sdy.tools.loading import partition, with_program_and_text

DESCRIPTION = """\
Propagates the shardings of a StableHLO program, partitions it with explicit collectives, and writes the program that
each device runs: plain StableHLO on the shapes of one shard.
"""


def parser() -> ArgumentParser:
    """The arguments of the command."""
    parser = ArgumentParser("sdy partition", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("file", help="StableHLO with sdy annotations, as JAX lowers it; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="the file to write; standard output without")
    parser.add_argument(
        "--global", dest="whole", action="store_true", help="stop before tensors become shards: sdy collectives"
    )
    parser.add_argument(
        "--stats",
        choices=("table", "json"),
        help="print what the program costs one device instead: bytes sent, collectives, FLOPs, memory; "
        "the program is written only where --output names a file",
    )
    return parser


def run(arguments: Namespace) -> int:
    """Partition and write."""
    path: str = arguments.file
    partitioned = with_program_and_text(path, lambda program, text: partition(program, path, text))
    if arguments.stats is not None:
        _print_statistics(statistics_of(partitioned.local), arguments.stats)
    if arguments.stats is None or arguments.output != "-":
        write_text(arguments.output, print_module(partitioned.whole if arguments.whole else partitioned.local))
    return 0


def _print_statistics(statistics: Statistics, form: str) -> None:
    if form == "json":
        print(dumps(statistics.to_json(), indent=2))
    else:
        Console().print(*statistics_tables(statistics), sep="\n")
