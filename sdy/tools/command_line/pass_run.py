"""Runs the passes of a command line of `sdy-opt` on one program, and shows the module around them as requested.

Beside plain text, the output has elided constants, bytecode, reproducers and statistics of passes."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr, DenseResource
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import print_module
from sdy.dialects.text.debug_locations import ParsedLocations
from sdy.dialects.text.text_parser import ELIDED
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.pass_options import build_pass, pipeline_of
from sdy.passes.run import run_passes
from sdy.passes.timings import VERIFICATION, Timings
from sdy.tools.command_line.files import STANDARD_STREAM, write_text
from sdy.tools.command_line.opt_arguments import AFTER_FAILURE, CRASH_REPRODUCER, FULL, VERIFY_EACH, OptArguments
from sdy.tools.command_line.options import argument_error

_PIPELINE = re.compile(r"\{-#.*?mlir_reproducer:\s*\{.*?pipeline:\s*\"([^\"]*)\"", re.DOTALL)


def elided(module: ModuleOp, most: int) -> ModuleOp:
    """Return a copy in which constants of more than `most` elements, unless all are equal, have no elements."""
    copy = copy_with_regions(module)
    for op in pre_order(copy):
        for attributes in (op.properties, op.attributes):
            attributes.update({name: _elided(each, most) for name, each in attributes.items()})
    return copy


def _elided(attribute: Attribute, most: int) -> Attribute:
    if not isinstance(attribute, DenseElementsAttr) or attribute.is_splat or attribute.data.count <= most:
        return attribute
    return DenseElementsAttr.from_bytes(attribute.type, attribute.data.raw, DenseResource(ELIDED, 1))


def write_bytecode(path: str, text: str) -> None:
    """Write a module, given as MLIR text, as bytecode.

    Raises: SdyError SDY-T002 if JAX, whose MLIR writes it, is not installed, or if MLIR does not read the text.
    """
    try:
        from sdy.jax.to_stablehlo.serialized import text_as_bytecode
    except ImportError:
        raise argument_error("--emit-bytecode requires JAX, whose MLIR writes it", "pip install 'sdy[jax]'") from None
    try:
        raw = text_as_bytecode(text)
    except ValueError as error:
        raise argument_error(f"MLIR cannot read the output: {error}", "print it as text") from None
    if path == STANDARD_STREAM:
        sys.stdout.buffer.write(raw)
        return
    try:
        Path(path).write_bytes(raw)
    except OSError as error:
        raise SdyError(Diagnostic("SDY-T001", f"cannot write {path}: {error.strerror}")) from None


@contextmanager
def reproducer(
    path: str | None, module: ModuleOp, passes: Sequence[ModulePass], *, verify_each: bool
) -> Generator[None]:
    """Write the module as it is now, with the pipeline of all passes, to a file if the block fails."""
    if path is None:
        yield
        return
    text, has_failed = print_module(module, generic=True), True
    try:
        yield
        has_failed = False
    finally:
        if has_failed:
            write_text(path, text.removesuffix("#-}\n").rstrip() + _section(text, passes, verify_each=verify_each))
            print(f"remark: --run-reproducer repeats the failure: {path}", file=sys.stderr)


def _section(text: str, passes: Sequence[ModulePass], *, verify_each: bool) -> str:
    """Return the end of a reproducer; a text with elements of constants at its end has begun the section."""
    lines = (
        "  external_resources: {",
        "    mlir_reproducer: {",
        f'      pipeline: "{pipeline_of(passes)}",',
        "      disable_threading: true,",
        f"      verify_each: {str(verify_each).lower()}",
        "    }",
        "  }",
        "#-}\n",
    )
    return (",\n" if text.endswith("#-}\n") else "\n\n{-#\n") + "\n".join(lines)


def reproduced_pipeline(text: str) -> str:
    """Return the pipeline of a reproducer. Raises: SdyError SDY-T002 if the text is none."""
    found = _PIPELINE.search(text)
    if found is None:
        hint = "--mlir-pass-pipeline-crash-reproducer=FILE writes one if a pass fails"
        raise argument_error("--run-reproducer requires a file with the section mlir_reproducer", hint)
    return found[1]


def statistics_report(passes: Sequence[ModulePass]) -> str:
    """Return a table like that of MLIR, with the passes as they ran; none counts anything."""
    rule = f"===-{'-' * 73}-==="
    title = "... Pass statistics report ...".center(len(rule)).rstrip()
    return "\n".join((rule, title, rule, *(each.name for each in passes)))


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
