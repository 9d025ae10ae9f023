"""Programs of one element-wise op."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.evidence.audit.catalogue.text import MATRICES, array, binary_body, generic, tensor
from sdy.model.shape import StaticShape

FLOAT_UNARY = (
    *("abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log"),
    *("log_plus_one", "logistic", "negate", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt"),
    *("tan", "tanh"),
)
INTEGER_UNARY = ("count_leading_zeros", "not", "popcnt")
FLOAT_BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")
INTEGER_BINARY = ("and", "or", "shift_left", "shift_right_arithmetic", "shift_right_logical", "xor")
CHLO_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf", "erf_inv", "erfc"),
    *("lgamma", "sinh", "square", "tan"),
)
CHLO_TESTS = ("is_inf", "is_neg_inf", "is_pos_inf")
CHLO_BINARY = ("next_after", "polygamma", "zeta")


def programs() -> Iterator[str]:
    """Yield programs of all element-wise ops on a few shapes."""
    for shape in MATRICES:
        yield from _of_one_type(shape)
        yield from _of_several_types(shape)


def _of_one_type(shape: StaticShape) -> Iterator[str]:
    """Yield programs of ops whose tensors have one type, apart from a boolean result."""
    real, integer, boolean = (tensor(shape, element) for element in ("f32", "i32", "i1"))
    for names, operands, result in (
        ((f"stablehlo.{name}" for name in FLOAT_UNARY), [real], real),
        ((f"stablehlo.{name}" for name in INTEGER_UNARY), [integer], integer),
        ((f"stablehlo.{name}" for name in FLOAT_BINARY), [real, real], real),
        ((f"stablehlo.{name}" for name in INTEGER_BINARY), [integer, integer], integer),
        ((f"chlo.{name}" for name in CHLO_UNARY), [real], real),
        ((f"chlo.{name}" for name in CHLO_TESTS), [real], boolean),
        ((f"chlo.{name}" for name in CHLO_BINARY), [real, real], real),
        (("stablehlo.is_finite",), [real], boolean),
        (("chlo.mulhi",), [integer, integer], integer),
    ):
        for name in names:
            yield generic(name, operands, [result])


def _of_several_types(shape: StaticShape) -> Iterator[str]:
    real, integer, boolean = (tensor(shape, element) for element in ("f32", "i32", "i1"))
    complex_, quantized = tensor(shape, "complex<f32>"), tensor(shape, "!quant.uniform<i8:f32, 2.0e-01:3>")
    yield generic("chlo.conj", [complex_], [complex_])
    yield generic("stablehlo.complex", [real, real], [complex_])
    for name in ("real", "imag"):
        yield generic(f"stablehlo.{name}", [complex_], [real])
    yield generic("stablehlo.convert", [real], [integer])
    direction = "comparison_direction = #stablehlo<comparison_direction LT>"
    yield generic("stablehlo.compare", [real, real], [boolean], direction)
    yield generic("stablehlo.reduce_precision", [real], [real], "exponent_bits = 5 : i32, mantissa_bits = 2 : i32")
    for predicate in (boolean, tensor((), "i1")):
        yield generic("stablehlo.select", [predicate, real, real], [real])
    for bound in (real, tensor(())):
        yield generic("stablehlo.clamp", [bound, real, bound], [real])
    dims = f"dimensions = {array(range(len(shape)))}"
    yield generic("stablehlo.map", [real, real], [real], dims, binary_body("subtract"))
    yield generic("stablehlo.uniform_quantize", [real], [quantized])
    yield generic("stablehlo.uniform_dequantize", [quantized], [real])
