from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, Specials, bits_of, float_of, float_text

NUMPY_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8E5M2": "float8_e5m2",
    "f8E4M3": "float8_e4m3",
    "f8E3M4": "float8_e3m4",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "f4E2M1FN": "float4_e2m1fn",
}
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
FORMATS = pytest.mark.parametrize("name", NUMPY_NAMES)


def numpy_value(name: str, bits: int) -> float:
    dtype = np.dtype(getattr(ml_dtypes, NUMPY_NAMES[name], NUMPY_NAMES[name]))
    return float(np.array([bits], UNSIGNED[FLOAT_FORMATS[name].byte_width]).view(dtype)[0])


def numpy_bits(name: str, value: float) -> int:
    dtype = np.dtype(getattr(ml_dtypes, NUMPY_NAMES[name], NUMPY_NAMES[name]))
    with np.errstate(over="ignore"):
        return int(np.array([value]).astype(dtype).view(UNSIGNED[FLOAT_FORMATS[name].byte_width])[0])


@FORMATS
def test_narrow_formats_decode_like_numpy(name: str) -> None:
    layout = FLOAT_FORMATS[name]
    for bits in range(1 << min(layout.width, 8)):
        pattern = bits << (layout.width - min(layout.width, 8))
        ours, theirs = float_of(pattern, layout), numpy_value(name, pattern)
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs)), hex(pattern)


@FORMATS
@given(value=st.floats(-1e6, 1e6) | st.floats(-1e-6, 1e-6))
def test_rounding_is_to_nearest_even(name: str, value: float) -> None:
    assert bits_of(value, FLOAT_FORMATS[name]) == numpy_bits(name, value)


@pytest.mark.parametrize("name", [name for name, layout in FLOAT_FORMATS.items() if layout.specials is Specials.IEEE])
@given(data=st.data())
def test_nan_keeps_its_sign_and_mantissa(name: str, data: st.DataObject) -> None:
    layout = FLOAT_FORMATS[name]
    exponent = ((1 << layout.exponent_bits) - 1) << layout.mantissa_bits
    sign = data.draw(st.sampled_from((0, 1 << (layout.width - 1))))
    bits = sign | exponent | data.draw(st.integers(1, (1 << layout.mantissa_bits) - 1))
    assert math.isnan(float_of(bits, layout))
    assert bits_of(float_of(bits, layout), layout) == bits


@FORMATS
@given(value=st.floats())
def test_encoding_and_decoding_round_trip(name: str, value: float) -> None:
    layout = FLOAT_FORMATS[name]
    bits = bits_of(value, layout)
    read = float_of(bits, layout)
    assert bits_of(read, layout) == bits
    assert math.isnan(read) or not math.isnan(value) or layout.specials is Specials.NONE


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0x3F800000, "1.000000e+00"),
        (0x80000000, "-0.000000e+00"),
        (0x40490FDB, "3.14159274"),
        (0x7F800000, "0x7F800000"),
        (0x7FC00000, "0x7FC00000"),
        (0x4CEB79A3, "0x4CEB79A3"),  # 123456792: an integer of more digits than six, without a point
        (0x00000001, "1.401300e-45"),
        (0x00800000, "1.17549435E-38"),
        (0x344FEFE1, "1.93656447E-7"),
        (0x411E6666, "9.89999961"),
    ],
)
def test_f32_text_matches_mlir(bits: int, text: str) -> None:
    assert float_text(bits, FLOAT_FORMATS["f32"]) == text


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (78.663, "f64", "78.662999999999996"),
        (0.1, "f64", "1.000000e-01"),
        (16777217.0, "f64", "0x4170000010000000"),
        (0.97167969, "f16", "9.716790e-01"),
        (1.1, "bf16", "1.101560e+00"),
        (45.28125, "f16", "4.528130e+01"),
        (math.inf, "f8E5M2", "0x7C"),
    ],
)
def test_text_of_other_formats_matches_mlir(value: float, name: str, text: str) -> None:
    assert float_text(bits_of(value, FLOAT_FORMATS[name]), FLOAT_FORMATS[name]) == text


def test_overflow_becomes_infinity_nan_or_the_largest_value() -> None:
    assert math.isinf(float_of(bits_of(1e30, FLOAT_FORMATS["f16"]), FLOAT_FORMATS["f16"]))
    assert math.isnan(float_of(bits_of(1e30, FLOAT_FORMATS["f8E4M3FN"]), FLOAT_FORMATS["f8E4M3FN"]))
    assert float_of(bits_of(1e30, FLOAT_FORMATS["f4E2M1FN"]), FLOAT_FORMATS["f4E2M1FN"]) == 6.0
