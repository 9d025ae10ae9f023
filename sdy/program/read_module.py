"""Reads the text of a module, and the names of its arguments."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.dialects.ir.symbols import MAIN, functions_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.text.source_lines import names_of_arguments
from sdy.dialects.verification.verify_module import verify_module


def read_module(text: str, file_name: str) -> ModuleOp:
    """Parse and verify the text of a module. Raises: SdyError with the first error in the text."""
    module = parse_module(text, file_name)
    verify_module(module)
    return module


def argument_names(module: ModuleOp) -> tuple[str, ...]:
    """Return the names that the locations of the arguments of the main function hold; nothing if one has no name."""
    main = functions_of(module).get(MAIN)
    return () if main is None or not main.body.blocks else names_of_arguments(main.body.block.args)
