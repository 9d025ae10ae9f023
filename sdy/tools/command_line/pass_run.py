"""Runs the passes of a command line of `sdy-opt` on one program, and shows the module around them as requested."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.context import SdyContext
from sdy.dialects.module_text import print_module
from sdy.dialects.text.debug_locations import ParsedLocations
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.run import run_passes
from sdy.passes.timings import VERIFICATION, Timings
from sdy.tools.command_line.files import write_text
from sdy.tools.command_line.mlir_output import elided, reproducer
from sdy.tools.command_line.opt_arguments import AFTER_FAILURE, CRASH_REPRODUCER, FULL, VERIFY_EACH, OptArguments


def requested_passes(arguments: OptArguments) -> list[ModulePass]:
    """Return the passes of a command line with their options. Raises: SdyError, as `build_pass`."""
    return [build_pass(request) for request in arguments.requests]


class PassRun:
    """One run of passes."""

    def __init__(self, arguments: OptArguments, timings: Timings, locations: ParsedLocations) -> None:
        """Set up a run on a program that was parsed with these locations."""
        self._arguments = arguments
        self._dump_dir = arguments.given.values.get("dump-dir")
        self._timings = timings
        self._locations = locations
        self._passes_run = 0
        self._text_before = ""

    def run(self, context: SdyContext, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Verify the module, and run the passes on it. Raises: SdyError of the first that fails."""
        arguments = self._arguments
        verify_each = arguments.has(VERIFY_EACH, default=True)
        with ExitStack() as stack:
            if verify_each and arguments.given.flags.get(VERIFY_EACH) != FULL:
                verify = stack.enter_context(VerifiedModule(module).listening()).verify
            else:
                verify = partial(verify_module, module)
                with self._timings.measure(VERIFICATION):
                    verify()
            path = arguments.given.values.get(CRASH_REPRODUCER)
            stack.enter_context(reproducer(path, module, passes, verify_each=verify_each))
            run_passes(
                context,
                module,
                passes,
                verify_each=verify_each,
                verify=verify,
                before=self._show_before,
                after=self._show_after,
                failed=self._show_failed,
                timings=self._timings,
            )

    def _show_before(self, each: ModulePass, module: ModuleOp) -> None:
        if self._arguments.has("mlir-print-ir-before-all") or each.name in self._arguments.shown_before:
            _show(f"Before {each.name}", self._text(module))
        if self._arguments.has("mlir-print-ir-after-change"):
            self._text_before = self._text(module)

    def _show_after(self, each: ModulePass, module: ModuleOp) -> None:
        self._passes_run += 1
        if self._is_shown_after(each) and not self._arguments.has(AFTER_FAILURE):
            _show(f"After {each.name}", self._text(module))
        elif self._arguments.has("mlir-print-ir-after-change") and (text := self._text(module)) != self._text_before:
            _show(f"After {each.name}", text)
        self._save(f"after-{each.name}", module)

    def _show_failed(self, each: ModulePass, module: ModuleOp) -> None:
        """Show the module that a failing pass leaves, in generic form, since custom forms may need what is missing."""
        self._passes_run += 1
        flags = AFTER_FAILURE, "mlir-print-ir-after-change"
        if self._is_shown_after(each) or any(map(self._arguments.has, flags)):
            _show(f"After {each.name} Failed", self._text(module, is_generic=True))
        self._save(f"after-{each.name}-failed", module, is_generic=True)

    def _is_shown_after(self, each: ModulePass) -> bool:
        return self._arguments.has("mlir-print-ir-after-all") or each.name in self._arguments.shown_after

    def _save(self, name: str, module: ModuleOp, *, is_generic: bool = False) -> None:
        if self._dump_dir is not None:
            file = Path(self._dump_dir) / f"{self._passes_run:02}-{name}.mlir"
            write_text(str(file), self._text(module, is_generic=is_generic), make_folder=True)

    def _text(self, module: ModuleOp, *, is_generic: bool = False) -> str:
        return text_of(module, self._arguments, self._locations, is_generic=is_generic)


def text_of(module: ModuleOp, arguments: OptArguments, locations: ParsedLocations, *, is_generic: bool = False) -> str:
    """Return the text of a module in the form that the command line asks for."""
    if arguments.most_elements is not None:
        module = elided(module, arguments.most_elements)
    shown = locations if arguments.has("mlir-print-debuginfo") else None
    is_generic = is_generic or arguments.has("mlir-print-op-generic")
    return print_module(module, is_generic, shown, local_scope=arguments.has("mlir-print-local-scope"))


def _show(title: str, text: str) -> None:
    print(f"// -----// IR Dump {title} //----- //\n{text}", file=sys.stderr)
