"""`sdy-opt`: reads MLIR text, runs passes on it, and prints it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.module_text import dialect_names, make_context, parse_module_with_locations, print_module
from sdy.dialects.text.debug_locations import ParsedLocations
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.timings import VERIFICATION, Timings
from sdy.tools.command_line.environment import configure_logging
from sdy.tools.command_line.exit_codes import NO, SUCCESS, print_diagnostics, quiet_on_broken_pipe, status_of
from sdy.tools.command_line.extensions import load_extensions
from sdy.tools.command_line.files import MARKER, Chunk, read_text, split_file, write_text
from sdy.tools.command_line.opt_arguments import (
    BYTECODE,
    LEVELS,
    RUN_REPRODUCER,
    TOOL,
    VERBOSITY,
    OptArguments,
    parse_arguments,
)
from sdy.tools.command_line.options import argument_error, print_help

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.REMARK)


@quiet_on_broken_pipe
def main(args: Sequence[str] | None = None) -> int:
    """Run the tool with command-line arguments, and return its exit code: 0, or 1 for a failure."""
    return status_of(lambda: _run(sys.argv[1:] if args is None else args), failure=NO)


def _run(args: Sequence[str]) -> int:
    configure_logging()
    arguments = parse_arguments(load_extensions(args)[1])
    if arguments.has("help"):
        print_help(TOOL, pass_names())
        return SUCCESS
    if arguments.has("version"):
        write_text("-", f"sdy {sdy.__version__}\n")
        return SUCCESS
    if arguments.has("list-passes"):
        write_text("-", pass_list())
        return SUCCESS
    if listed := arguments.given.values.get("list-op"):
        from sdy.tools.op_homes import op_page  # imports the tables of all stages

        write_text("-", op_page(listed))
        return SUCCESS
    if arguments.has("show-dialects"):
        write_text("-", "".join(f"{name}\n" for name in dialect_names()))
        return SUCCESS
    text = read_text(arguments.given.file)
    passes = _passes(arguments, text)
    chunks = split_file(text) if arguments.has("split-input-file") else [Chunk(text)]
    reported: set[str] = set()
    timings = Timings()
    jobs = [_Job(arguments, chunk, {arguments.given.file: text}, reported, timings) for chunk in chunks]
    outputs = [output for job in jobs if (output := job.run(passes)) is not None]
    if outputs:
        _write(arguments, outputs)
    if arguments.has("mlir-pass-statistics"):
        from sdy.tools.command_line.pass_run import statistics_report

        print(statistics_report(passes), file=sys.stderr)
    if arguments.has("mlir-timing"):
        print(timings.report(by_time=arguments.times_as_list), file=sys.stderr)
    return SUCCESS if all(job.succeeded for job in jobs) else NO


def _write(arguments: OptArguments, outputs: Sequence[str]) -> None:
    path = arguments.given.values.get("o", "-")
    if not arguments.has(BYTECODE):
        write_text(path, f"{MARKER}\n".join(outputs))
    elif len(outputs) > 1:
        raise argument_error(f"expected one module for --{BYTECODE}, got {len(outputs)}", "split the file")
    else:
        from sdy.tools.command_line.pass_run import write_bytecode

        write_bytecode(path, outputs[0])


def pass_list() -> str:
    """Return one paragraph per pass: its name, a one-line description, and its options with their defaults."""
    from sdy.passes.manager.option_types import default_text, options_of

    lines: list[str] = []
    for name in pass_names():
        kind = pass_class(name)
        described = (kind.__doc__ or "").strip() or "(no description)"
        options = (f"      {option}={default_text(field)}" for option, (field, _) in options_of(kind).items())
        lines += [name, f"    {described.splitlines()[0]}", *options]
    return "\n".join(lines) + "\n"


def _passes(arguments: OptArguments, text: str) -> Sequence[ModulePass]:
    """Return the passes to run; without any, neither they nor what runs them is imported."""
    if arguments.has(RUN_REPRODUCER):
        from sdy.passes.manager.pass_options import parse_pipeline
        from sdy.tools.command_line.pass_run import reproduced_pipeline

        arguments = arguments._replace(requests=parse_pipeline(reproduced_pipeline(text)))
    if not arguments.requests and not arguments.has("dump-pass-pipeline"):
        return ()
    from sdy.passes.manager.pass_options import pipeline_of
    from sdy.tools.command_line.pass_run import requested_passes

    passes = requested_passes(arguments)
    if arguments.has("dump-pass-pipeline"):
        print(pipeline_of(passes), file=sys.stderr)
    return passes


class _Job:
    """The processing of one program of the input file."""

    def __init__(
        self, arguments: OptArguments, chunk: Chunk, sources: dict[str, str], reported: set[str], timings: Timings
    ) -> None:
        self._arguments = arguments
        self._chunk = chunk
        self._sources = sources
        self._reported = reported  # shared, so that a diagnostic emitted once appears once for the file
        self._timings = timings
        self.succeeded = True

    def run(self, passes: Sequence[ModulePass]) -> str | None:
        """Run the passes, and return the text of the final module, or None if a pass failed."""
        context = make_context(self._arguments.has("allow-unregistered-dialect"))
        context.emitted_keys = self._reported
        output, errors = self._transform(context, passes)
        diagnostics = [*context.diagnostics, *errors]
        if self._arguments.has("verify-diagnostics"):
            from sdy.tools.command_line.expectations import parse_expectations, unmet

            expected = parse_expectations(self._arguments.given.file, self._chunk.text, self._chunk.first_line)
            diagnostics = unmet(expected, diagnostics)
            self.succeeded = not diagnostics
        else:
            self.succeeded = not errors
        shown = LEVELS.index(self._arguments.given.values.get(VERBOSITY, LEVELS[-1]))
        print_diagnostics([each for each in diagnostics if _SEVERITIES.index(each.severity) <= shown], self._sources)
        return output

    def _transform(self, context: SdyContext, passes: Sequence[ModulePass]) -> tuple[str | None, Sequence[Diagnostic]]:
        arguments, chunk = self._arguments, self._chunk
        try:
            with self._timings.measure("Parser"):
                module, locations = parse_module_with_locations(
                    chunk.text, arguments.given.file, context, chunk.first_line
                )
            context.locations = locations
            if arguments.has("no-implicit-module"):
                _check_is_module(module, chunk)
            self._verify_and_run(passes, context, module, locations)
        except SdyError as error:
            return None, error.diagnostics
        with self._timings.measure("Output"):
            if arguments.has("mlir-print-debuginfo") or arguments.most_elements is not None:
                from sdy.tools.command_line.pass_run import text_of

                return text_of(module, arguments, locations) + "\n", ()
            return print_module(module, arguments.has("mlir-print-op-generic")) + "\n", ()

    def _verify_and_run(
        self, passes: Sequence[ModulePass], context: SdyContext, module: ModuleOp, locations: ParsedLocations
    ) -> None:
        if not passes:
            with self._timings.measure(VERIFICATION):
                verify_module(module)
            return
        from sdy.tools.command_line.pass_run import PassRun

        PassRun(self._arguments, self._timings, locations).run(context, module, passes)


def _check_is_module(module: ModuleOp, chunk: Chunk) -> None:
    """Raise SdyError SDY-T002 if a module was added around the ops of a text."""
    span = span_of(module)
    text = chunk.text.split("\n", 0 if span is None else span.line - chunk.first_line)[-1]
    if span is None or not text[span.column - 1 :].startswith(("module", "builtin.module", '"builtin.module"')):
        message = "--no-implicit-module requires one module at the top level"
        raise SdyError(Diagnostic("SDY-T002", message, span, hint="write module { ... } around all ops"))


if __name__ == "__main__":
    sys.exit(main())
