"""The inputs of a program as text: a list of constants, `[dense<1> : tensor<2xi32>, ...]`."""

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
    """The arrays that the constants of a list hold. Raises: SdyError SDY-X015 where the text is no such list."""
    try:
        # Only as part of a module may an attribute stand alone.
        module = parse_module(f"module attributes {{sdy.inputs = {text}\n}} {{}}")
    except SdyError as error:
        raise failure("SDY-X015", f"{text} is no list of constants: {error}", hint=_HINT) from None
    values = module.attributes.get("sdy.inputs")
    if not isinstance(values, ArrayAttr):
        raise failure("SDY-X015", f"{text} is no list", hint=_HINT)
    return [_array(value) for value in cast(ArrayAttr[Attribute], values)]


def _array(value: Attribute) -> Array:
    if not isinstance(value, DenseElementsAttr):
        raise failure("SDY-X015", f"{value} is no tensor constant", hint=_HINT)
    return array_of(value.data)
