"""Every elementwise op runs on every element type that its verifier accepts, or is rejected by a diagnostic."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.stablehlo import elementwise
from sdy.program.program import Program

TYPES = (
    "i1",
    "i4",
    "i8",
    "i32",
    "ui2",
    "ui16",
    "bf16",
    "f16",
    "f64",
    "f8E4M3FN",
    "f4E2M1FN",
    "complex<f32>",
    "complex<f64>",
)
OPS = sorted(op.name for op in (*elementwise.OPS, *CHLO.operations))


def _text(name: str, operands: int, element: str, result: str) -> str:
    names, types = ", ".join(["%a"] * operands), ", ".join([f"tensor<2x{element}>"] * operands)
    return f"""func.func @main(%a: tensor<2x{element}>) -> tensor<2x{result}> {{
      %0 = "{name}"({names}) : ({types}) -> tensor<2x{result}>
      return %0 : tensor<2x{result}>
    }}"""


def _is_run(text: str) -> bool | None:
    """Return whether a program runs; None if it is rejected at a line of its text."""
    try:
        program = Program.from_text(text)
    except SdyError:
        return None
    ((shape, dtype),) = program.input_types
    try:
        program.run_flat([np.ones(shape).astype(dtype)])
    except SdyError as error:
        return None if error.diagnostics[0].span is not None else False
    return True


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.filterwarnings("ignore")  # of NumPy: the values do not matter, but where imaginary parts are dropped
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_elementwise_ops_run_or_are_rejected(element: str) -> None:
    results = {element, "i1", element.removeprefix("complex<").removesuffix(">")}
    found = [_is_run(_text(*each)) for each in product(OPS, (1, 2, 3), (element,), sorted(results))]
    assert found.count(True) > 10
    assert False not in found
    assert found.count(None) > 100
