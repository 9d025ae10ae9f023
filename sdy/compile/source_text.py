"""Reads program files: their MLIR text, and the module that it holds.

Other formats than text are recognized, and converted where JAX is installed.

Converted: gzip, MLIR bytecode and portable artifacts, HLO text and protos. Other files that people pass instead of a
program are named in the error: Python files, arrays, jaxprs.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.origin import Origin
from sdy.compile.signature import FlatSignature
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Span
from sdy.dialects import arith
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import MAIN, functions_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.dialects.text.debug_locations import ParsedLocations
from sdy.dialects.text.source_lines import scopes, source_lines
from sdy.dialects.verification.op_checks import OpChecks
from sdy.dialects.verification.verify_module import verify_module
from sdy.mpmd.execution.without_meshes import first_on_mesh, remove_meshes
from sdy.passes.rewriting.insertion import erase, replace_op
from sdy.rules.all import sharding_rule
from sdy.rules.user_rules import check_rules

GZIP, BYTECODE, ZIP, NUMPY = b"\x1f\x8b", b"ML\xefR", b"PK\x03\x04", b"\x93NUMPY"
PROTO_SUFFIXES = (".pb", ".hlo", ".hlo.pb")
# Patterns of texts in other languages. They are compiled only for texts with such a beginning.
_OTHER_STARTS = ("import", "from", "def", "#", "@jax", '"""', "{")
_PYTHON = r"(?:#[^\n]*\n|\s)*(?:import \w|from [\w.]+ import |def \w+\(|@jax\b|\"\"\")"
_JAXPR = r"\{ ?lambda\b"
# What JAX, XLA and other front ends write in place of meshes, shardings and constants of sdy and StableHLO.
_FOREIGN = r"mhlo\.sharding|xla\.sdy\.|@Sharding|@SPMD|async_collective_config|arith\.constant|tuple<"
# Ops of HLO that StableHLO does not have, and how CHLO writes them.
_IN_CHLO = ((r"mhlo\.erf (.*) : (.*)", r"chlo.erf \1 : \2 -> \2"), (r"mhlo\.topk\(", "chlo.top_k("))
_OPTIMIZED = r'"mhlo\.\w+"\('  # fusions and other ops that StableHLO does not have

Format = Literal["MLIR bytecode", "HLO text", "an HLO proto"]


def source_text(raw: bytes, name: str) -> str:
    """Return the MLIR text of the program in a file with these bytes; `name` appears in messages.

    Raises: SdyError SDY-T212 if the file holds something else or cannot be converted, SDY-T205 if JAX is needed and
    not installed, SDY-P008 if it is not valid UTF-8.
    """
    if raw.startswith(GZIP):
        return source_text(_decompressed(raw, name), name.removesuffix(".gz"))
    if raw.startswith(BYTECODE):
        return _converted(raw, name, "MLIR bytecode")
    if raw.startswith((ZIP, NUMPY)):
        raise _unreadable(name, "holds arrays, not a program", "pass the program as file, and arrays with --inputs")
    if name.endswith(PROTO_SUFFIXES) and b"\0" in raw:
        return _converted(_hlo_module(raw), name, "an HLO proto")
    text = _decoded(raw, name)
    begin = text.lstrip()
    if begin.startswith("HloModule "):
        return _converted(raw, name, "HLO text")
    is_other = begin.startswith(_OTHER_STARTS)
    if name.endswith(".py") or (is_other and re.match(_PYTHON, begin)):
        hint = "in Python, sdy.from_jax(fn, *args) returns the program of a JAX function"
        raise _unreadable(name, "is a Python file, not a program in MLIR text", hint)
    if is_other and re.match(_JAXPR, begin):
        raise _unreadable(name, "is a jaxpr, not MLIR text", "write jax.jit(fn).lower(*args).as_text() to the file")
    return text


def _decompressed(raw: bytes, name: str) -> bytes:
    import gzip
    import zlib

    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(name, f"is damaged: {error}", "compress it again with gzip") from None


def _decoded(raw: bytes, name: str) -> str:
    raw = raw.removeprefix(BOM_UTF8)  # which some editors write at the beginning of a file
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"byte 0x{raw[error.start]:02x} is not valid UTF-8"
        hint = "expected MLIR text, MLIR bytecode, HLO text, or an HLO proto in a file *.pb"
        raise SdyError(Diagnostic("SDY-P008", message, Span(name, line, column), hint)) from None


def _converted(raw: bytes, name: str, kind: Format) -> str:
    """Return a program of another format as MLIR text."""
    try:
        convert = _converter(kind)
    except ModuleNotFoundError as error:
        from sdy.jax.optional_jax import missing_jax_error

        (diagnostic,) = missing_jax_error(error).diagnostics
        message = f"{name} is {kind}, which is read through JAX, and JAX is not installed"
        raise SdyError(Diagnostic(diagnostic.code, message, hint=diagnostic.hint)) from error
    try:
        text = convert(raw)
    except ValueError as error:
        lines = str(error).strip().splitlines() or ["no reason given"]
        raise _unreadable(name, f"is not valid as {kind}: {lines[0]}", "write the file again") from None
    for pattern, ours in _IN_CHLO:
        text = re.sub(pattern, ours, text)
    if re.search(_OPTIMIZED, text):
        raise _unreadable(name, "was dumped after XLA's optimizations", "use the dump `*before_optimizations*`")
    return text


def _converter(kind: Format) -> Callable[[bytes], str]:
    from sdy.jax.to_stablehlo.serialized import bytecode_as_text, hlo_proto_as_text, hlo_text_as_text

    match kind:
        case "MLIR bytecode":
            return bytecode_as_text
        case "HLO text":
            return lambda raw: hlo_text_as_text(raw.decode("utf-8"))
        case "an HLO proto":
            return hlo_proto_as_text


def _hlo_module(raw: bytes) -> bytes:
    """Return the `HloModuleProto` in a file that XLA dumped, where it is the first field of an `HloProto`.

    Both messages begin with field 1, which is the name in an `HloModuleProto`, and the module in an `HloProto`. The
    module itself begins with field 1, the name.
    """
    length, start = 0, 1
    for shift in range(0, 35, 7):
        byte = raw[start] if start < len(raw) else 0
        length |= (byte & 0x7F) << shift
        start += 1
        if byte < 0x80:
            break
    field = raw[start : start + length]
    return field if raw[:1] == b"\n" and field[:1] == b"\n" and len(field) == length else raw


def _unreadable(name: str, problem: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T212", f"{name} {problem}", hint=hint))


def read_module(text: str, file_name: str) -> ModuleOp:
    """Parse, verify and normalize the text of a module. Raises: SdyError with the first error in the text."""
    module = parse_module(text, file_name)
    verify_and_normalize(module, text)
    return module


def verify_and_normalize(module: ModuleOp, text: str, checks: OpChecks | None = None) -> None:
    """Verify a module that was read, and express annotations and constants of other dialects by those of sdy.

    `checks` will remember what is valid. Raises: SdyError with the first error.
    """
    verify_module(module, checks)
    check_rules(module, sharding_rule)
    if "mpmd." in text:
        _remove_names(module)
    if re.search(_FOREIGN, text):
        from sdy.compile.async_collectives import import_async_collectives  # few programs need these
        from sdy.passes.import_.import_hlo_shardings import import_hlo_shardings

        import_async_collectives(module)
        import_hlo_shardings(module)
        for op in ops_of(module, arith.ConstantOp):
            if isinstance(op.value, DenseElementsAttr):
                replace_op(op, ConstantOp.create(result_types=[op.value.type], properties={"value": op.value}))
            elif op.results[0].first_use is None:
                erase(op)  # a scalar, as of code that computed shapes
        verify_module(module)


def _remove_names(module: ModuleOp) -> None:
    """Remove the names of computations. Raises: SdyError SDY-T283 at the first op with a value on a mesh."""
    op = first_on_mesh(module)
    if op is not None:
        message = f"{op.name}: a program of several meshes, whose fragments sdy partitions one by one"
        hint = "sdy verify, sdy cost, sdy report and sdy-run take it, and in Python sdy.mpmd.load(path) reads it"
        raise SdyError(Diagnostic("SDY-T283", message, span_of(op), hint=hint))
    remove_meshes(module)


def text_origin(text: str, module: ModuleOp, locations: ParsedLocations) -> Origin:
    """Return the origin of a module that was read from a text, with the lines, scopes and names in its locations."""
    names = _argument_names(module, locations)
    return Origin(text, FlatSignature(), source_lines(locations), names, scopes=scopes(locations))


def _argument_names(module: ModuleOp, locations: ParsedLocations) -> tuple[str, ...]:
    """Return the names that the text gives the arguments of the main function; nothing if one has no name."""
    main = functions_of(module).get(MAIN)
    entry = None if main is None else main.body.first_block
    names = () if entry is None else tuple(map(locations.name_of_argument, entry.args))
    return names if all(names) else ()
