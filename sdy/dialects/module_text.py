"""From text to a module, and back: the dialects that text may use, parsing, printing."""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Dialect

from sdy.dialects.arith import ARITH
from sdy.dialects.check_dialect import CHECK
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.interpreter_dialect import INTERPRETER
from sdy.dialects.ir.context import SdyContext
from sdy.dialects.quant import QUANT
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.text.parse_text import parse_text
from sdy.dialects.text.printer import print_operation

DIALECTS = (Builtin, Func, ARITH, SDY, STABLEHLO, CHLO, QUANT, CHECK, INTERPRETER)
_added: list[Dialect] = []


def dialects() -> tuple[Dialect, ...]:
    """The dialects that text may use: ours, then those that were added."""
    return (*DIALECTS, *_added)


def add_dialect(dialect: Dialect) -> None:
    """Let text use a further dialect, from now on. Raises: ValueError where there is one of that name."""
    if any(known.name == dialect.name for known in dialects()):
        raise ValueError(f"there is a dialect called {dialect.name} already")
    _added.append(dialect)
    _shared_context.cache_clear()


def make_context(allow_unregistered: bool = False) -> SdyContext:
    """A context that knows all our dialects; others too, by name only, where `allow_unregistered`."""
    context = SdyContext(allow_unregistered=allow_unregistered)
    for dialect in dialects():
        context.load_dialect(dialect)
    return context


def parse_module(
    text: str, file_name: str = "<text>", *, context: Context | None = None, first_line: int = 1
) -> ModuleOp:
    """The module that a text spells; ops at top level are wrapped in one. The module is not verified.

    `first_line` is the line of the file at which the text begins.
    Raises: SdyError at the first mistake.
    """
    # Empty lines in front put every line at its number, for all who count.
    return parse_text(context or _shared_context(), "\n" * (first_line - 1) + text, file_name)


def print_module(module: ModuleOp, generic: bool = False) -> str:
    """The text of a module as MLIR prints it, with a newline at its end; `generic` spells every op in one way."""
    return print_operation(module, generic) + "\n"


@cache
def _shared_context() -> Context:
    return make_context()
