"""Parses the command line of `sdy-run`: a file, and options with one dash or two."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

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
    "probe-output-dir": "write each value observed by interpreter.probe to a .npy file in this directory",
}

SHORT = {"h": "help"}


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
        name, has_value, value = arg.lstrip("-").partition("=")
        name = SHORT.get(name, name)
        if name in FLAGS and not has_value:
            flags.add(name)
        elif name in VALUES:
            values[name] = value if has_value else _next_value(name, rest)
        else:
            raise _unknown(arg, name)
    if len(files) > 1:
        raise _error(f"expected one input file, got {len(files)}: {', '.join(files)}", None)
    return RunArguments(*files, flags=frozenset(flags), values=values)


def help_text() -> str:
    """Return the text of `sdy-run --help`."""
    lines = [
        "usage: sdy-run [options] [file]",
        "",
        "Interpret the function @main of a module, or its only function, and print the results.",
        "",
        "options:",
        *(f"  --{name:28} {text}" for name, text in (VALUES | FLAGS).items()),
    ]
    return "\n".join(lines) + "\n"


def _next_value(name: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise _error(f"--{name} requires a value", VALUES[name])
    return value


def _unknown(arg: str, name: str) -> SdyError:
    close = difflib.get_close_matches(name, [*FLAGS, *VALUES], n=1)
    return _error(f"unknown option {arg}", f"did you mean --{close[0]}?" if close else "see --help")


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))
