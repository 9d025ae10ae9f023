"""Quantized element types that are not what they should be."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f8:f32, 2.0", "quantized elements are stored as i1 to i32 or u1 to u32, not as f8"),
        ("i64:f32, 2.0", "quantized elements are stored as i1 to i32 or u1 to u32, not as i64"),
        ("i8:i32, 2.0", "quantized elements stand for floats, not for i32"),
        ("u8<-1:255>:f32, 2.0", "-1:255 is no range within 0:255, what u8 can hold"),
        ("i8<5:5>:f32, 2.0", "5:5 is no range within -128:127, what i8 can hold"),
    ],
)
def test_wrong_types(text: str, message: str) -> None:
    with pytest.raises(SdyError) as caught:
        parse_module(f"func.func private @f(tensor<4x!quant.uniform<{text}>>)")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert diagnostic.span.column > len("func.func private @f(tensor<4x!quant.uniform")
