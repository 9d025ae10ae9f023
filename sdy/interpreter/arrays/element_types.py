"""Map MLIR element types to NumPy dtypes, and to the wider dtypes in which they are computed."""

from __future__ import annotations

from functools import cache
from typing import cast

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray
from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType, Signedness
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.quant import UniformQuantizedType
from sdy.dialects.stablehlo.attributes.types import TokenType, as_tensor
from sdy.interpreter.arrays.field_types import COMPLEX, REAL, ComplexFieldType, FieldType

Array = NDArray[np.generic]
DType = np.dtype[np.generic]

TOKEN_DTYPE: DType = np.dtype(np.bool_)  # a token has no data, but its slot needs an array

_FLOATS: dict[str, DTypeLike] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_SIGNED: dict[int, DTypeLike] = {
    1: np.bool_,
    2: ml_dtypes.int2,
    4: ml_dtypes.int4,
    8: np.int8,
    16: np.int16,
    32: np.int32,
    64: np.int64,
}
_UNSIGNED: dict[int, DTypeLike] = {
    2: ml_dtypes.uint2,
    4: ml_dtypes.uint4,
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}
_COMPLEX: dict[DType, DTypeLike] = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}

# The integers that ml_dtypes adds to NumPy: their bits, and the dtypes in which they are computed.
_INT_BITS: dict[DType, int] = {np.dtype(table[bits]): bits for table in (_SIGNED, _UNSIGNED) for bits in (2, 4)}
_NARROW_INTS: dict[DType, DType] = {
    np.dtype(table[bits]): np.dtype(table[8]) for table in (_SIGNED, _UNSIGNED) for bits in (2, 4)
}
_FLOAT_BITS: dict[DType, int] = {  # formats with fewer bits than their byte
    np.dtype(ml_dtypes.float6_e2m3fn): 6,
    np.dtype(ml_dtypes.float6_e3m2fn): 6,
    np.dtype(ml_dtypes.float4_e2m1fn): 4,
}
_NARROW_FLOATS = frozenset(np.dtype(dtype) for dtype in _FLOATS.values()) - {np.dtype(np.float64), np.dtype(np.float32)}


@cache
def dtype_of(element_type: Attribute) -> DType:
    """Return the dtype of `element_type`; a token is one bool, and quantized elements have their storage type.

    Raises: SdyError SDY-X001 if no dtype holds such elements.
    """
    found: DTypeLike | None = None
    match element_type:
        case IntegerType():
            table = _UNSIGNED if element_type.signedness.data is Signedness.UNSIGNED else _SIGNED
            found = table.get(element_type.width.data)
        case IndexType():
            found = np.int64
        case ComplexType():
            part = dtype_of(cast(ComplexType[AnyFloat], element_type).element_type)
            found = _COMPLEX.get(part)
        case TokenType():
            found = TOKEN_DTYPE
        case FieldType():
            found = REAL
        case ComplexFieldType():
            found = COMPLEX
        case UniformQuantizedType():
            storage = element_type.data.storage
            found = (_SIGNED if storage.is_signed else _UNSIGNED).get(storage.width) if storage.width > 1 else None
        case _ if isinstance(element_type, AnyFloat):
            found = _FLOATS.get(element_type.name)
        case _:
            pass
    if found is None:
        raise SdyError(
            Diagnostic(
                "SDY-X001",
                f"the interpreter does not support the element type {element_type}",
                hint="it supports i1 to i64, ui2 to ui64, index, f4 to f64, bf16 and complex",
            )
        )
    return np.dtype(found)


def dtype_of_type(value_type: Attribute) -> DType:
    """Return the dtype of the elements of a tensor, or of another value such as a token."""
    tensor = as_tensor(value_type)
    return dtype_of(value_type if tensor is None else tensor.element_type)


def is_bool(dtype: DType) -> bool:
    """Return whether elements are i1."""
    return dtype.kind == "b"


def is_complex(dtype: DType) -> bool:
    """Return whether elements are complex."""
    return dtype.kind == "c"


def is_float(dtype: DType) -> bool:
    """Return whether elements are real floats of any width."""
    return dtype.kind == "f" or dtype in _NARROW_FLOATS


def is_integer(dtype: DType) -> bool:
    """Return whether elements are integers of more than one bit."""
    return dtype.kind in "iu" or dtype in _INT_BITS


def is_signed(dtype: DType) -> bool:
    """Return whether elements are signed integers."""
    return is_integer(dtype) and compute_dtype(dtype).kind == "i"


def bit_width(dtype: DType) -> int:
    """Return the bits of one element, as MLIR counts them."""
    if is_bool(dtype):
        return 1
    if dtype in _INT_BITS:
        return _INT_BITS[dtype]
    return _FLOAT_BITS.get(dtype, dtype.itemsize * 8)


def is_sub_byte(dtype: DType) -> bool:
    """Return whether elements are integers of 2 or 4 bits, each of which takes one byte in memory."""
    return dtype in _INT_BITS


def compute_dtype(dtype: DType) -> DType:
    """Return the dtype of arithmetic on `dtype`: 8 bits for narrower integers, f32 for narrower floats, else itself."""
    if dtype in _NARROW_INTS:
        return _NARROW_INTS[dtype]
    return np.dtype(np.float32) if dtype in _NARROW_FLOATS else dtype


def exact_dtype(dtype: DType) -> DType:
    """Return the dtype of transcendental functions, wide enough for one rounding: f64 for f32, f32 for narrower."""
    if dtype == np.dtype(np.float32):
        return np.dtype(np.float64)
    return np.dtype(np.complex128) if dtype == np.dtype(np.complex64) else compute_dtype(dtype)
