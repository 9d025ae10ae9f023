"""Forms of the output of `sdy-opt` beside plain text: elided constants, bytecode, reproducers and pass statistics."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr, DenseResource
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import print_module
from sdy.dialects.text.text_parser import ELIDED
from sdy.passes.manager.pass_options import pipeline_of
from sdy.tools.command_line.files import STANDARD_STREAM, write_text
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
