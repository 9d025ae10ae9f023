"""Parse the inputs of a program from text: a list of constants, `[dense<1> : tensor<2xi32>, ...]`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.elements import array_of
from sdy.interpreter.failure import failure

_HINT = "write [dense<1> : tensor<2xi32>, ...], one constant per argument"


def parse_inputs(text: str) -> list[Array]:
    """Return one array per constant of the list. Raises: SdyError SDY-X015 if the text is not a list of constants."""
    try:
        # The parser reads modules only, so the list is wrapped in one.
        module = parse_module(f"module attributes {{sdy.inputs = {text}\n}} {{}}")
    except SdyError as error:
        raise failure(
            "SDY-X015", f"expected a list of constants, got {text}: {error.diagnostics[0].message}", hint=_HINT
        ) from None
    values = module.attributes.get("sdy.inputs")
    if not isinstance(values, ArrayAttr):
        raise failure("SDY-X015", f"expected a list of constants, got {text}", hint=_HINT)
    return [_array(value) for value in cast(ArrayAttr[Attribute], values)]


def _array(value: Attribute) -> Array:
    if not isinstance(value, DenseElementsAttr):
        raise failure("SDY-X015", f"expected a tensor constant, got {value}", hint=_HINT)
    return array_of(value.data)
