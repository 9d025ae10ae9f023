"""Programs of one element-wise op, product or reduction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from xdsl.ir import Operation

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.stablehlo import elementwise as stablehlo
from sdy.dialects.stablehlo.base import FormattedOp
from sdy.dialects.stablehlo.checks.elementwise import check_boolean_result
from sdy.dialects.stablehlo.checks.requirements import check_boolean_or_integer_operand, check_integer_operand
from sdy.evidence.audit.catalogue.text import MATRICES, array, binary_body, generic, program, tensor
from sdy.model.shape import StaticShape

# Ops with programs of their own below: operands of other types, or attributes.
OF_SEVERAL_TYPES = frozenset[type[Operation]](
    (
        *(stablehlo.ClampOp, stablehlo.CompareOp, stablehlo.ComplexOp, stablehlo.ConvertOp, stablehlo.ImagOp),
        *(stablehlo.RealOp, stablehlo.ReducePrecisionOp, stablehlo.SelectOp, stablehlo.UniformDequantizeOp),
        *(stablehlo.UniformQuantizeOp, chlo.ConjOp, chlo.AsinAcosKernelOp),
    )
)


def _element_wise_ops() -> Iterator[str]:
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


Ints = tuple[int, ...]
DOTS: tuple[tuple[Ints, Ints, Ints, Ints, Ints, Ints], ...] = (
    # lhs, rhs, batching dims of both, contracting dims of both
    ((2, 3), (3, 4), (), (), (1,), (0,)),
    ((3, 2), (4, 3), (), (), (0,), (1,)),
    ((2, 4, 3), (2, 3, 2), (0,), (0,), (2,), (1,)),
    ((3, 2, 4), (4, 2, 2), (1,), (1,), (2,), (0,)),
    ((2, 2, 3), (2, 3, 4), (), (), (0, 2), (0, 1)),
    ((2, 3), (2, 4), (0,), (0,), (), ()),
    ((2, 2, 3), (2, 3, 2), (0, 1), (0, 2), (2,), (1,)),
    ((3,), (3,), (), (), (0,), (0,)),
    ((4,), (3,), (), (), (), ()),
)


def _products() -> Iterator[str]:
    for lhs, rhs, left_batch, right_batch, left_sum, right_sum in DOTS:
        free = [size for dim, size in enumerate(lhs) if dim not in left_batch + left_sum]
        free += [size for dim, size in enumerate(rhs) if dim not in right_batch + right_sum]
        result = tensor([*(lhs[dim] for dim in left_batch), *free])
        dims = f"batching_dims = {list(left_batch)} x {list(right_batch)}, "
        dims += f"contracting_dims = {list(left_sum)} x {list(right_sum)}"
        types = f"({tensor(lhs)}, {tensor(rhs)}) -> {result}"
        yield program(f"%r = stablehlo.dot_general %a, %b, {dims} : {types}", tensor(lhs), tensor(rhs))
    for lhs, rhs in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,))):
        yield generic("stablehlo.dot", [tensor(lhs), tensor(rhs)], [tensor((*lhs[:-1], *rhs[1:]))])


REDUCERS = (
    *((op, "f32") for op in ("add", "multiply", "maximum", "minimum")),
    *(("add", "i32"), ("and", "i32"), ("or", "i1"), ("and", "i1")),
)


def _reductions() -> Iterator[str]:
    shape = (2, 3, 4)
    for (op, element), count in product(REDUCERS, range(1, 4)):
        for dims in combinations(range(3), count):
            result = tensor((size for dim, size in enumerate(shape) if dim not in dims), element)
            operands = [tensor(shape, element), tensor((), element)]
            yield generic(
                "stablehlo.reduce", operands, [result], f"dimensions = {array(dims)}", binary_body(op, element)
            )


def _arg_max() -> Iterator[str]:
    kinds, results = (tensor((3, 4)), tensor((3, 4), "i32")), (tensor((3,)), tensor((3,), "i32"))
    yield program(
        f"""%low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<2147483647> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a, %b, %low, %none) <{{dimensions = array<i64: 1>}}> ({{
  ^bb0(%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>):
    %gt = stablehlo.compare GT, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %first : tensor<i1>
    %keep = stablehlo.or %gt, %tie : tensor<i1>
    %x = stablehlo.select %keep, %v, %w : tensor<i1>, tensor<f32>
    %y = stablehlo.select %keep, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>
  }}) : ({", ".join(kinds)}, tensor<f32>, tensor<i32>) -> ({", ".join(results)})""",
        *kinds,
    )


PROGRAMS = (_element_wise_ops, _products, _reductions, _arg_max)
