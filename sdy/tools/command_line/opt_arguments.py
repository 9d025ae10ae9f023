"""Parses the command line of `sdy-opt`: a file, flags, and passes in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sdy.diagnostics.similar_names import similar_name_hint
from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.pass_request import PassRequest, parse_options
from sdy.tools.command_line.options import (
    argument_error,
    next_value,
    only_file,
    option_lines,
    split_option,
    unknown_option,
)

AFTER_FAILURE = "mlir-print-ir-after-failure"
FLAGS = {
    "split-input-file": "split the input at the lines `// -----`, and process each part separately",
    "verify-diagnostics": "compare the diagnostics with the comments `// expected-error {{...}}`",
    "allow-unregistered-dialect": "accept ops, attributes and types of unregistered dialects",
    "mlir-print-op-generic": "print every op in generic form",
    "mlir-print-debuginfo": "print the location of every op and argument",
    "mlir-print-ir-before-all": "print the module to stderr before each pass",
    "mlir-print-ir-after-all": "print the module to stderr after each pass",
    "mlir-print-ir-after-change": "print the module to stderr after each pass that changed it",
    AFTER_FAILURE: "print the module to stderr only after a pass that failed, or whose result is not valid",
    "mlir-print-ir-module-scope": "accepted and ignored: the full module is always printed",
    "mlir-timing": "print the wall time of each pass to stderr",
    "mlir-disable-threading": "accepted and ignored: passes run in one thread",
    "verify-each": "verify after each pass what it changed (true, the default), the module (full), or nothing (false)",
    "dump-pass-pipeline": "print the pass pipeline with its options to stderr before running it",
    "show-dialects": "list the registered dialects and exit",
    "list-passes": "list the passes with their descriptions and options and exit",
    "version": "print the version and exit",
    "help": "print this help and exit",
}
VERIFY_FULL = "verify-each=full"  # a flag beside "verify-each"
VALUES = {
    "o": "output file (default: standard output)",
    "pass-pipeline": "the passes to run: builtin.module(pass,pass{option=value})",
    "mlir-print-ir-before": "print the module to stderr before these passes (comma-separated names)",
    "mlir-print-ir-after": "print the module to stderr after these passes (comma-separated names)",
    "list-op": "list what each stage knows about an op, such as stablehlo.reverse, and exit",
    "mlir-timing-display": "the order in --mlir-timing: as the passes ran (tree, the default) or by time (list)",
    "load": "import a Python module or a .py file first, which may register dialects and passes",
    "server": "answer calls of sdy/tools/lit/client.py at this socket until standard input is closed",
    "dump-dir": "write the module after each pass to a file in this directory",
}


class OptArguments(NamedTuple):
    """The arguments of one call of `sdy-opt`. `flags` maps each flag on the command line to its value."""

    input: str
    output: str
    dump_dir: str | None
    listed_op: str | None
    server: str | None
    times_as_list: bool
    shown_before: frozenset[str]
    shown_after: frozenset[str]
    requests: Sequence[PassRequest]
    flags: Mapping[str, bool]

    def has(self, flag: str, default: bool = False) -> bool:
        """Return the value of a flag, or `default` if it is not on the command line."""
        return self.flags.get(flag, default)


def parse_arguments(args: Sequence[str]) -> OptArguments:
    """Parse the arguments of a command line. Options begin with one dash or two.

    Raises: SdyError if an option is unknown, or if a value is missing or invalid.
    """
    files: list[str] = []
    flags: dict[str, bool] = {}
    values: dict[str, str] = {}
    requests: list[PassRequest] = []
    passes = frozenset(pass_names())
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            files += rest
        elif arg == "-" or not arg.startswith("-"):
            files.append(arg)
        else:
            name, value = split_option(arg)
            if name in passes:
                requests.append(PassRequest(name, parse_options(value or "")))
            elif name in FLAGS:
                flags |= _flag(name, value)
            elif name in VALUES:
                values[name] = next_value(name, rest, VALUES) if value is None else value
            else:
                raise unknown_option(arg, [*FLAGS, *VALUES, *pass_names()])
    if "pass-pipeline" in values:
        if requests:
            raise argument_error(
                "passes cannot be specified both as flags and with --pass-pipeline", "use one of the two"
            )
        from sdy.passes.manager.pipeline_text import parse_pipeline

        requests = parse_pipeline(values["pass-pipeline"])
    return OptArguments(
        input=only_file(files),
        output=values.get("o", "-"),
        dump_dir=values.get("dump-dir"),
        listed_op=values.get("list-op"),
        server=values.get("server"),
        times_as_list=_times_as_list(values.get("mlir-timing-display", "tree")),
        shown_before=_pass_names(values.get("mlir-print-ir-before")),
        shown_after=_pass_names(values.get("mlir-print-ir-after")),
        requests=requests,
        flags=flags,
    )


def help_text() -> str:
    """Return the text of `sdy-opt --help`."""
    lines = [
        "usage: sdy-opt [options] [file]",
        "",
        "Read MLIR text, run passes on it, and print the result.",
        "",
        "options:",
    ]
    lines += [
        *option_lines(VALUES | FLAGS),
        "",
        "passes, with options as --pass='a=b c=d':",
        *(f"  --{name}" for name in pass_names()),
    ]
    return "\n".join(lines) + "\n"


def _pass_names(value: str | None) -> frozenset[str]:
    if not value:
        return frozenset()
    from sdy.passes.run import Pipeline  # imported here, because it takes long

    names = frozenset(value.split(","))
    unknown = next((name for name in sorted(names) if name not in pass_names()), None)
    if unknown is not None:
        hint = similar_name_hint(unknown, pass_names()) or "see --list-passes"
        raise argument_error(f"unknown pass {unknown}", hint)
    for name in sorted(names):
        if issubclass(pass_class(name), Pipeline):
            raise argument_error(f"expected passes, got the pipeline {name}", "--dump-pass-pipeline prints its passes")
    return names


def _times_as_list(display: str) -> bool:
    if display not in ("tree", "list"):
        raise argument_error(f"expected tree or list for --mlir-timing-display, got {display!r}")
    return display == "list"


def _flag(name: str, value: str | None) -> dict[str, bool]:
    if name == "verify-each":
        return {name: value == "full" or _boolean(name, value), VERIFY_FULL: value == "full"}
    return {name: _boolean(name, value)}


def _boolean(name: str, value: str | None) -> bool:
    if value is None:
        return True
    if value not in ("true", "false", "1", "0"):
        raise argument_error(f"expected true or false for --{name}, got {value!r}")
    return value in ("true", "1")
