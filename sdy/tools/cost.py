"""`sdy cost`: how long would this program take on a machine, and would it fit?"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from dataclasses import replace
from json import dumps
from math import inf

from rich.console import Console

from sdy.cost.hardware import HARDWARE, hardware_by_name
from sdy.cost.program_cost import ProgramCost
from sdy.program.program import Program
from sdy.report.cost_tables import cost_tables
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.loading import add_optimizer_arguments, partition, with_program_and_text

DESCRIPTION = f"""\
Partitions a program and tells what it costs each device of a machine: the time of the collectives by mesh axes, of
arithmetic and of memory, and the most bytes alive at once against the memory of the device.

Machines: {", ".join(HARDWARE)}.
"""


def parser() -> ArgumentParser:
    """The arguments of the command."""
    parser = ArgumentParser("sdy cost", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("file", help="StableHLO with sdy annotations, as JAX lowers it; - is standard input")
    parser.add_argument("--on", required=True, metavar="MACHINE", help="the hardware")
    parser.add_argument(
        "--free-bytes",
        type=_byte_count,
        metavar="N",
        help="memory of a device that the program may use, as 300e6; else all",
    )
    parser.add_argument("--json", action="store_true", help="print plain data")
    parser.add_argument(
        "--trace", metavar="OUT", help="write when each op runs as well, as Chrome and ui.perfetto.dev show it"
    )
    add_optimizer_arguments(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Partition, cost, print."""
    hardware = hardware_by_name(arguments.on)

    def cost(program: Program, text: str) -> ProgramCost:
        chosen = replace(program, optimize_communication=not arguments.no_optimizer)
        partitioned = partition(chosen, arguments.file, text, savings=arguments.savings)
        if arguments.trace is not None:
            write_text(arguments.trace, dumps(partitioned.trace(hardware)))
        return partitioned.cost(hardware, arguments.free_bytes)

    found = with_program_and_text(arguments.file, cost)
    if arguments.json:
        print(dumps(found.to_json(), indent=2))
    else:
        Console().print(*cost_tables(found), sep="\n")
    return 0


def _byte_count(text: str) -> float:
    try:
        count = float(text)
    except ValueError:
        count = -1.0
    if not 0 <= count < inf:
        raise ArgumentTypeError(f"{text} is no number of bytes, such as 300e6")
    return count
