"""Parsing and printing of modules, and the dialects that module text may use."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from importlib import import_module
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.dialects.func import Func
from xdsl.ir import BlockArgument, Dialect, Operation

from sdy.dialects.ir.context import SdyContext
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import blocks_of, op_and_nested_ops
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo import families
from sdy.dialects.text.debug_locations import ParsedLocations
from sdy.dialects.text.locating_parser import parse_text
from sdy.dialects.text.printer import Offsets, print_operation
from sdy.dialects.unregistered import allows_unregistered_dialects


class LazyDialect(NamedTuple):
    """A dialect that few programs use, at least not all of it: its module is imported when a program does."""

    name: str
    module: str
    variable: str

    def load(self) -> Dialect:
        """Return the dialect."""
        return cast(Dialect, getattr(import_module(self.module), self.variable))


DIALECTS: tuple[Dialect | LazyDialect, ...] = (
    Builtin,
    Func,
    LazyDialect("arith", "sdy.dialects.arith", "ARITH"),
    SDY,
    LazyDialect(families.DIALECT, "sdy.dialects.stablehlo.dialect", "STABLEHLO"),  # ops are found by family
    LazyDialect("chlo", "sdy.dialects.chlo.dialect", "CHLO"),
    LazyDialect("quant", "sdy.dialects.quant", "QUANT"),
    LazyDialect("check", "sdy.dialects.interpreter_dialect", "CHECK"),
    LazyDialect("interpreter", "sdy.dialects.interpreter_dialect", "INTERPRETER"),
    LazyDialect("mpmd", "sdy.mpmd.dialect.dialect", "MPMD"),
)
_added_dialects: list[Dialect] = []
UNNAMED = "<text>"  # in place of the name of the file of a text


def dialect_names() -> list[str]:
    """Return the names of the dialects that text may use: the built-in ones, then those that were added."""
    return [dialect.name for dialect in (*DIALECTS, *_added_dialects)]


def add_dialect(dialect: Dialect) -> None:
    """Allow text to use another dialect from now on.

    Raises: ValueError if there is already a dialect of that name.
    """
    if dialect.name in dialect_names():
        raise ValueError(f"a dialect named {dialect.name} already exists")
    _added_dialects.append(dialect)
    _context_with.cache_clear()


def make_context(allow_unregistered: bool = False) -> SdyContext:
    """Return a context with all dialects.

    Ops of other dialects are accepted if `allow_unregistered`, or if `sdy.dialects.unregistered` allows them.
    """
    context = SdyContext(allow_unregistered or allows_unregistered_dialects(), families.op_class)
    for dialect in (*DIALECTS, *_added_dialects):  # they are loaded when the text uses them
        load = dialect.load if isinstance(dialect, LazyDialect) else lambda loaded=dialect: loaded
        context.register_dialect(dialect.name, load)
    return context


def parse_module(
    text: str, file_name: str = UNNAMED, *, context: Context | None = None, first_line: int = 1
) -> ModuleOp:
    """Parse a module; ops at top level are wrapped in one. The module is not verified.

    `first_line` is the number of the first line of the text in its file.
    Raises: SdyError at the first mistake.
    """
    # Leading empty lines make line numbers right in every location and diagnostic.
    return parse_text(context or _shared_context(), "\n" * (first_line - 1) + text, file_name)[0]


def parse_module_with_locations(
    text: str, file_name: str, context: Context | None = None, first_line: int = 1
) -> tuple[ModuleOp, ParsedLocations]:
    """Parse a module like `parse_module`; also return the locations that the text names."""
    module, parser = parse_text(context or _shared_context(), "\n" * (first_line - 1) + text, file_name)
    return module, parser.parsed_locations()


@garbage_collection_paused()
def print_module(
    module: ModuleOp,
    generic: bool = False,
    locations: ParsedLocations | None = None,
    *,
    local_scope: bool = False,
) -> str:
    """Return the text of a module as MLIR prints it, with a final newline. `generic` selects the generic form.

    With the `locations` of the text that the module was parsed from, the location of each op is printed: where it is
    used with `local_scope`, else by an alias.
    """
    return print_operation(module, generic, locations, local_scope=local_scope) + "\n"


def printed_copy(module: ModuleOp, file_name: str) -> tuple[str, ModuleOp, ParsedLocations]:
    """Return the text of a module, and what parsing it gives: a module, and the locations that the ops had before.

    Ops and block arguments that the text does not list, as in the short form of a reduction, have no location.
    """
    offsets: Offsets = {}
    text, copy = print_operation(module, offsets=offsets) + "\n", copy_with_regions(module)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    file, before = StringAttr(file_name), ParsedLocations({}, {}, {})

    def place(item: Operation | BlockArgument, named: dict[tuple[int, int], LocationAttr]) -> LocationAttr:
        if item not in offsets:
            return UnknownLoc()
        line = bisect_right(starts, offsets[item])
        column = offsets[item] - starts[line - 1] + 1
        if not isinstance(item.location, UnknownLoc) and not _is_in_unnamed_text(item.location):
            named[line, column] = item.location
        return FileLineColLoc(file, IntAttr(line), IntAttr(column))

    for op, copied in zip(op_and_nested_ops(module), op_and_nested_ops(copy), strict=True):
        copied.location = place(op, before.of_ops)
        for block, copied_block in zip(blocks_of(op), blocks_of(copied), strict=True):
            for argument, copied_argument in zip(block.args, copied_block.args, strict=True):
                copied_argument.location = place(argument, before.of_arguments)
    return text, copy, before


def _is_in_unnamed_text(location: LocationAttr) -> bool:
    """Return whether a location is in a text that was parsed without a file name, which nobody can open."""
    return isinstance(location, FileLineColLoc) and location.filename.data == UNNAMED


def _shared_context() -> Context:
    return _context_with(allows_unregistered_dialects())


@cache
def _context_with(allow_unregistered: bool) -> Context:
    return make_context(allow_unregistered)
