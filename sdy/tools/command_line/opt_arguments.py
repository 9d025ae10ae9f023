"""Parses the command line of `sdy-opt`: a file, flags, and passes in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sdy.diagnostics.wording import similar_name_hint
from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.option_types import PassRequest, parse_options
from sdy.tools.command_line import options
from sdy.tools.command_line.extensions import LOAD_HELP, UNREGISTERED_HELP
from sdy.tools.command_line.options import ToolArguments, ToolOptions, argument_error

VERIFY_EACH, FULL = "verify-each", "full"
ELIDE, BYTECODE = "mlir-elide-elementsattrs-if-larger", "emit-bytecode"
RUN_REPRODUCER, CRASH_REPRODUCER = "run-reproducer", "mlir-pass-pipeline-crash-reproducer"
AFTER_FAILURE = "mlir-print-ir-after-failure"
FLAGS = {
    "split-input-file": "split the input at the lines `// -----`, and process each part separately",
    "verify-diagnostics": "compare the diagnostics with the comments `// expected-error {{...}}`",
    "allow-unregistered-dialect": UNREGISTERED_HELP,
    "mlir-print-op-generic": "print every op in generic form",
    "mlir-print-debuginfo": "print the location of every op and argument",
    "mlir-print-ir-before-all": "print the module to stderr before each pass",
    "mlir-print-ir-after-all": "print the module to stderr after each pass",
    "mlir-print-ir-after-change": "print the module to stderr after each pass that changed it",
    AFTER_FAILURE: "print the module to stderr only after a pass that failed, or whose result is not valid",
    "mlir-print-ir-module-scope": "accepted and ignored: the full module is always printed",
    "mlir-print-local-scope": "with --mlir-print-debuginfo, print each location where it is used, without aliases",
    "mlir-pass-statistics": "print the passes that ran to stderr; none counts anything",
    RUN_REPRODUCER: "run the pipeline in the file, which --mlir-pass-pipeline-crash-reproducer wrote",
    "no-implicit-module": "require one module at the top level, instead of wrapping other ops in a module",
    BYTECODE: "write bytecode (requires JAX)",
    "mlir-timing": "print the wall time of each pass to stderr",
    "mlir-disable-threading": "accepted and ignored: passes run in one thread",
    VERIFY_EACH: "verify after each pass what it changed (true, the default), the module (full), or nothing (false)",
    "dump-pass-pipeline": "print the pass pipeline with its options to stderr before running it",
    "show-dialects": "list the registered dialects and exit",
    "list-passes": "list the passes with their descriptions and options and exit",
    "version": "print the version and exit",
    "help": "print this help and exit",
}
VERBOSITY = "mlir-diagnostic-verbosity-level"
LEVELS = ("errors", "warnings", "remarks")
VALUES = {
    "o": "output file (default: standard output)",
    "pass-pipeline": "the passes to run: builtin.module(pass,pass{option=value})",
    "mlir-print-ir-before": "print the module to stderr before these passes (comma-separated names)",
    "mlir-print-ir-after": "print the module to stderr after these passes (comma-separated names)",
    ELIDE: "print dense_resource<__elided__> for constants of more elements than this number, unless all are equal",
    CRASH_REPRODUCER: "if a pass fails, write the module before all passes and the pipeline to this file",
    "list-op": "list what each stage knows about an op, such as stablehlo.reverse, and exit",
    "mlir-timing-display": "the order in --mlir-timing: as the passes ran (tree, the default) or by time (list)",
    "load": LOAD_HELP,
    VERBOSITY: f"the least severe diagnostics to print: {', '.join(LEVELS)} (the default)",
    "dump-dir": "write the module after each pass to a file in this directory",
}


TOOL = ToolOptions(
    "usage: sdy-opt [options] [file]\n\nRead MLIR text, run passes on it, and print the result.", FLAGS, VALUES
)


class OptArguments(NamedTuple):
    """The arguments of one call of `sdy-opt`: those on the command line, and the passes that they name."""

    given: ToolArguments
    times_as_list: bool
    shown_before: frozenset[str]
    shown_after: frozenset[str]
    requests: Sequence[PassRequest]
    most_elements: int | None

    def has(self, flag: str, default: bool = False) -> bool:
        """Return the value of a flag, or `default` if it is not on the command line."""
        return self.given.has(flag, default)


def parse_arguments(args: Sequence[str]) -> OptArguments:
    """Parse the arguments of a command line. Options begin with one dash or two.

    Raises: SdyError if an option is unknown, or if a value is missing or invalid.
    """
    given = options.parse_arguments(TOOL, args, frozenset(pass_names()), {VERIFY_EACH: FULL})
    requests = [PassRequest(name, parse_options(text)) for name, text in given.passes]
    pipeline = given.values.get("pass-pipeline")
    if pipeline is not None:
        if requests:
            raise argument_error(
                "passes cannot be specified both as flags and with --pass-pipeline", "use one of the two"
            )
        from sdy.passes.manager.pass_options import parse_pipeline

        requests = parse_pipeline(pipeline)
    level = given.values.get(VERBOSITY, LEVELS[-1])
    if level not in LEVELS:
        raise argument_error(f"expected {', '.join(LEVELS)} for --{VERBOSITY}, got {level!r}")
    return OptArguments(
        given,
        times_as_list=_times_as_list(given.values.get("mlir-timing-display", "tree")),
        shown_before=_pass_names(given.values.get("mlir-print-ir-before")),
        shown_after=_pass_names(given.values.get("mlir-print-ir-after")),
        requests=requests,
        most_elements=_number(ELIDE, given.values.get(ELIDE)),
    )


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


def _number(option: str, value: str | None) -> int | None:
    if value is not None and not value.isdecimal():
        raise argument_error(f"expected a number for --{option}, got {value!r}")
    return None if value is None else int(value)


def _times_as_list(display: str) -> bool:
    if display not in ("tree", "list"):
        raise argument_error(f"expected tree or list for --mlir-timing-display, got {display!r}")
    return display == "list"
