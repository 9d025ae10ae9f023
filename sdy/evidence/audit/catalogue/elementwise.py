"""Programs of one element-wise op."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.stablehlo import elementwise as stablehlo
from sdy.dialects.stablehlo.base import FormattedOp
from sdy.dialects.stablehlo.checks.elementwise import check_boolean_result
from sdy.dialects.stablehlo.checks.requirements import check_boolean_or_integer_operand, check_integer_operand
from sdy.evidence.audit.catalogue.text import MATRICES, array, binary_body, generic, tensor
from sdy.model.shape import StaticShape

# Ops with programs of their own below: operands of other types, or attributes.
OF_SEVERAL_TYPES = frozenset[type[Operation]](
    (
        *(stablehlo.ClampOp, stablehlo.CompareOp, stablehlo.ComplexOp, stablehlo.ConvertOp, stablehlo.ImagOp),
        *(stablehlo.RealOp, stablehlo.ReducePrecisionOp, stablehlo.SelectOp, stablehlo.UniformDequantizeOp),
        *(stablehlo.UniformQuantizeOp, chlo.ConjOp, chlo.AsinAcosKernelOp),
    )
)


def programs() -> Iterator[str]:
    """Yield programs of all element-wise ops on a few shapes."""
    for shape in MATRICES:
        yield from _of_one_type(shape)
        yield from _of_several_types(shape)


def _of_one_type(shape: StaticShape) -> Iterator[str]:
    """Yield programs of the ops whose operands have one type, and whose result has it too or is boolean."""
    for op_class in (*stablehlo.OPS, *chlo.OPS):
        if op_class in OF_SEVERAL_TYPES or not issubclass(op_class, FormattedOp):
            continue
        is_integer = not {check_integer_operand, check_boolean_or_integer_operand}.isdisjoint(op_class.CHECKS)
        kind = tensor(shape, "i32" if is_integer else "f32")
        result = tensor(shape, "i1") if check_boolean_result in op_class.CHECKS else kind
        yield generic(op_class.name, [kind] * len(op_class.get_irdl_definition().operands), [result])


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


PROGRAMS = (programs,)
