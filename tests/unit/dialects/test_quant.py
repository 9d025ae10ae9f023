"""Tests of invalid quantized element types."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f8:f32, 2.0", "expected a storage type from i1 to i32 or from u1 to u32, got f8"),
        ("i64:f32, 2.0", "expected a storage type from i1 to i32 or from u1 to u32, got i64"),
        ("i8:i32, 2.0", "expected a float type as expressed type, got i32"),
        ("u8<-1:255>:f32, 2.0", "expected a range within 0:255, the range of u8, got -1:255"),
        ("i8<5:5>:f32, 2.0", "expected a range within -128:127, the range of i8, got 5:5"),
    ],
)
def test_invalid_types(text: str, message: str) -> None:
    with pytest.raises(SdyError) as caught:
        parse_module(f"func.func private @f(tensor<4x!quant.uniform<{text}>>)")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert diagnostic.span.column > len("func.func private @f(tensor<4x!quant.uniform")
