"""Run the text of ops and programs on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of
from sdy.interpreter.host import Host
from sdy.interpreter.run import interpret
from support.random_ops.draft import ELEMENTS, tensor

_NAMES: dict[DType, str] = {dtype_of(element): name for name, element in ELEMENTS.items()}


def type_of(array: Array) -> str:
    """Return the text of the tensor type of `array`."""
    return tensor(array.shape, _NAMES[array.dtype])


def run_op(line: str, result: str, **operands: Array) -> Array:
    """Return the result of an op: `run_op("stablehlo.add %a, %a : tensor<2xf32>", "tensor<2xf32>", a=...)`."""
    (found,) = run_ops(line, (result,), **operands)
    return found


def run_ops(line: str, results: tuple[str, ...], **operands: Array) -> list[Array]:
    """Return the results of an op."""
    arguments = ", ".join(f"%{name}: {type_of(array)}" for name, array in operands.items())
    names, types = ", ".join(f"%r{index}" for index in range(len(results))), ", ".join(results)
    body = f"{names} = {line}\n  return {names} : {types}" if results else f"{line}\n  return"
    return run(f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}", *operands.values())


def run(text: str, *inputs: Array, function: str = "main", host: Host | None = None) -> list[Array]:
    """Return the results of a function on one device."""
    return interpret(parse_module(text, "test.mlir"), inputs, function, host)


def error_of(text: str, *inputs: Array) -> Diagnostic:
    """Run a program that must fail, and return its only diagnostic."""
    return diagnostic_of(lambda: run(text, *inputs))


def diagnostic_of(call: Callable[[], object]) -> Diagnostic:
    """Call a function that must fail, and return its only diagnostic."""
    with pytest.raises(SdyError) as raised:
        call()
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def f32(*values: float) -> Array:
    """Return a vector of f32."""
    return np.array(values, np.float32)


def i32(*values: int) -> Array:
    """Return a vector of i32."""
    return np.array(values, np.int32)
