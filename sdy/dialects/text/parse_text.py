"""From text to a module: runs the parser, and turns whatever stops it into one diagnostic with a place."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.text.locating_parser import LocatingParser


def parse_text(context: Context, text: str, file: str) -> ModuleOp:
    """The module that a text spells, or a module of the ops that it lists.

    Raises: SdyError at the first mistake.
    """
    parser = LocatingParser(context, text, file)
    lines = parser.lines
    try:
        with garbage_collection_paused():
            return parser.parse_module()
    except ParseError as error:
        message, span = error.msg, lines.span(error.span.start, error.span.end)
        raise SdyError(Diagnostic("SDY-P001", message[:1].lower() + message[1:], span)) from None
    except VerifyException as error:
        raise SdyError(Diagnostic("SDY-P001", str(error), lines.span(parser.consumed))) from None
    except RecursionError:
        raise SdyError(Diagnostic("SDY-P007", "the text nests too deeply", lines.span(parser.consumed))) from None
