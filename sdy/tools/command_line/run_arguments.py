"""Parses the command line of `sdy-run`: a file, and options with one dash or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sdy.tools.command_line.extensions import LOAD_HELP
from sdy.tools.command_line.options import next_value, only_file, split_option, unknown_option

USAGE = """\
usage: sdy-run [options] [file]

Interpret the function @main of a module, or its only function, and print the results."""
FLAGS = {
    "split-input-file": "split the input at the lines `// -----`, and run each part separately",
    "interpreter-print-dense": "print results as constants: dense<[1, 2]> : tensor<2xi32>",
    "trace": "print each executed op to standard error, with its result types and a digest of its results",
    "devices-table": "also print the shard of each result on each device of the mesh",
    "interpret": "accepted and ignored: this tool always interprets",
    "mlir-disable-threading": "accepted and ignored: the interpreter runs in one thread",
    "version": "print the version and exit",
    "help": "print this help and exit",
}
VALUES = {
    "args": "the inputs of the function: [dense<1> : tensor<2xi32>, ...]",
    "inputs": "a .npz file with the inputs arg0, arg1, ... of the function",
    "load": LOAD_HELP,
    "probe-output-dir": "write each value observed by interpreter.probe to a .npy file in this directory",
}


@dataclass(frozen=True)
class RunArguments:
    """The arguments of one call of `sdy-run`."""

    input: str = "-"
    flags: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict[str, str])


def parse_arguments(args: Sequence[str]) -> RunArguments:
    """Parse the arguments of a command line.

    Raises: SdyError SDY-T002 if an option is unknown, if a value is missing, or if there are several files.
    """
    files: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = iter(args)
    for arg in rest:
        if arg == "-" or not arg.startswith("-"):
            files.append(arg)
            continue
        name, value = split_option(arg)
        if name in FLAGS and value is None:
            flags.add(name)
        elif name in VALUES:
            values[name] = next_value(name, rest, VALUES) if value is None else value
        else:
            raise unknown_option(arg, [*FLAGS, *VALUES])
    return RunArguments(only_file(files), flags=frozenset(flags), values=values)
