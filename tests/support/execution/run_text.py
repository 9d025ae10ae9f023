"""Running ops and programs on arrays, for tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of
from sdy.interpreter.host import Host
from sdy.interpreter.single import interpret
from support.random_ops.draft import ELEMENTS, tensor

_NAMES: dict[DType, str] = {dtype_of(element): name for name, element in ELEMENTS.items()}


def type_of(array: Array) -> str:
    """The type of a tensor with the elements of `array`, as text."""
    return tensor(array.shape, _NAMES[array.dtype])


def run_op(line: str, result: str, **operands: Array) -> Array:
    """What an op gives: `run_op("stablehlo.add %a, %a : tensor<2xf32>", "tensor<2xf32>", a=...)`."""
    (found,) = run_ops(line, (result,), **operands)
    return found


def run_ops(line: str, results: tuple[str, ...], **operands: Array) -> list[Array]:
    """What an op of several results gives."""
    arguments = ", ".join(f"%{name}: {type_of(array)}" for name, array in operands.items())
    names, types = ", ".join(f"%r{place}" for place in range(len(results))), ", ".join(results)
    body = f"{names} = {line}\n  return {names} : {types}" if results else f"{line}\n  return"
    return run(f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}", *operands.values())


def run(text: str, *inputs: Array, function: str = "main", host: Host | None = None) -> list[Array]:
    """What a function of a program gives on one device."""
    return interpret(parse_module(text, "test.mlir"), inputs, function, host)


def error_of(text: str, *inputs: Array) -> Diagnostic:
    """The only diagnostic of a program that cannot be run."""
    return diagnostic_of(lambda: run(text, *inputs))


def diagnostic_of(call: Callable[[], object]) -> Diagnostic:
    """The only diagnostic of a call that fails."""
    with pytest.raises(SdyError) as raised:
        call()
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def f32(*values: float) -> Array:
    """A list of f32."""
    return np.array(values, np.float32)


def i32(*values: int) -> Array:
    """A list of i32."""
    return np.array(values, np.int32)
