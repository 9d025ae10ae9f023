"""`sdy-opt`: reads MLIR text, runs passes on it, and prints it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import sdy
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.module_text import dialect_names, make_context, parse_module_with_locations, print_module
from sdy.dialects.verification.verified_module import VerifiedModule
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.run import VERIFICATION, flattened, run_passes
from sdy.passes.timings import Timings
from sdy.tools.command_line.broken_pipe import quiet_on_broken_pipe
from sdy.tools.command_line.environment import configure_logging
from sdy.tools.command_line.exit_codes import INTERRUPTED, NO, SUCCESS
from sdy.tools.command_line.expectations import parse_expectations, unmet
from sdy.tools.command_line.extensions import load_extensions
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.opt_arguments import VERIFY_FULL, OptArguments, help_text, parse_arguments
from sdy.tools.command_line.split_file import MARKER, Chunk, split_file


@quiet_on_broken_pipe
def main(args: Sequence[str] | None = None) -> int:
    """Run the tool with command-line arguments, and return its exit code: 0, or 1 for a failure."""
    try:
        configure_logging()
        arguments = parse_arguments(load_extensions(sys.argv[1:] if args is None else args))
        return _run(arguments)
    except SdyError as error:
        _report(error.diagnostics, {})
        return NO
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: OptArguments) -> int:
    if arguments.has("help"):
        write_text("-", help_text())
        return SUCCESS
    if arguments.has("version"):
        write_text("-", f"sdy {sdy.__version__}\n")
        return SUCCESS
    if arguments.has("list-passes"):
        write_text("-", import_module("sdy.tools.command_line.pass_list").pass_list())  # imports all passes
        return SUCCESS
    if arguments.has("show-dialects"):
        write_text("-", "".join(f"{name}\n" for name in dialect_names()))
        return SUCCESS
    if arguments.server is not None:
        import_module("sdy.tools.lit.server").serve(arguments.server, main)  # imports all passes
        return SUCCESS
    passes = [build_pass(request) for request in arguments.requests]
    if arguments.has("dump-pass-pipeline"):
        print(f"builtin.module({','.join(map(str, flattened(passes)))})", file=sys.stderr)
    text = read_text(arguments.input)
    chunks = split_file(text) if arguments.has("split-input-file") else [Chunk(text)]
    reported: set[str] = set()
    timings = Timings()
    jobs = [_Job(arguments, chunk, {arguments.input: text}, reported, timings) for chunk in chunks]
    outputs = [output for job in jobs if (output := job.run(passes)) is not None]
    if outputs:
        write_text(arguments.output, f"{MARKER}\n".join(outputs))
    if arguments.has("mlir-timing"):
        print(timings.report(by_time=arguments.times_as_list), file=sys.stderr)
    return SUCCESS if all(job.succeeded for job in jobs) else NO


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
        self._passes_run = 0
        self._text_before = ""
        self.succeeded = True

    def run(self, passes: Sequence[ModulePass]) -> str | None:
        """Run the passes, and return the text of the final module, or None if a pass failed."""
        context = make_context(self._arguments.has("allow-unregistered-dialect"))
        context.emitted_keys = self._reported
        output, errors = self._transform(context, passes)
        diagnostics = [*context.diagnostics, *errors]
        if self._arguments.has("verify-diagnostics"):
            expected = parse_expectations(self._arguments.input, self._chunk.text, self._chunk.first_line)
            diagnostics = unmet(expected, diagnostics)
            self.succeeded = not diagnostics
        else:
            self.succeeded = not errors
        _report(diagnostics, self._sources)
        return output

    def _transform(self, context: SdyContext, passes: Sequence[ModulePass]) -> tuple[str | None, Sequence[Diagnostic]]:
        arguments, chunk = self._arguments, self._chunk
        try:
            with self._timings.measure("Parser"):
                module, locations = parse_module_with_locations(chunk.text, arguments.input, context, chunk.first_line)
            verify_each, is_full = arguments.has("verify-each", default=True), arguments.has(VERIFY_FULL)
            with ExitStack() as stack:
                if passes and verify_each and not is_full:
                    verify = stack.enter_context(VerifiedModule(module).listening()).verify
                else:
                    verify = partial(verify_module, module)
                    with self._timings.measure(VERIFICATION):
                        verify()
                run_passes(
                    context,
                    module,
                    passes,
                    verify_each=verify_each,
                    verify=verify,
                    before=self._show_before,
                    after=self._show_after,
                    timings=self._timings,
                )
        except SdyError as error:
            return None, error.diagnostics
        shown = locations if arguments.has("mlir-print-debuginfo") else None
        with self._timings.measure("Output"):
            return print_module(module, arguments.has("mlir-print-op-generic"), shown) + "\n", ()

    def _show_before(self, each: ModulePass, module: ModuleOp) -> None:
        if self._arguments.has("mlir-print-ir-before-all") or each.name in self._arguments.shown_before:
            print(f"// -----// IR Dump Before {each.name} //----- //\n{print_module(module)}", file=sys.stderr)
        if self._arguments.has("mlir-print-ir-after-change"):
            self._text_before = print_module(module)

    def _show_after(self, each: ModulePass, module: ModuleOp) -> None:
        self._passes_run += 1
        if self._arguments.has("mlir-print-ir-after-all") or each.name in self._arguments.shown_after:
            print(f"// -----// IR Dump After {each.name} //----- //\n{print_module(module)}", file=sys.stderr)
        elif self._arguments.has("mlir-print-ir-after-change") and (text := print_module(module)) != self._text_before:
            print(f"// -----// IR Dump After {each.name} //----- //\n{text}", file=sys.stderr)
        if self._arguments.dump_dir is not None:
            file = Path(self._arguments.dump_dir) / f"{self._passes_run:02}-after-{each.name}.mlir"
            write_text(str(file), print_module(module), make_folder=True)


def _report(diagnostics: Sequence[Diagnostic], sources: dict[str, str]) -> None:
    for diagnostic in diagnostics:
        print(render(diagnostic, sources), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
