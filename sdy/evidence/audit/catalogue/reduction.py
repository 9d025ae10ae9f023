"""Programs of one reduction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from sdy.evidence.audit.catalogue.text import array, binary_body, generic, program, tensor

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


PROGRAMS = (_reductions, _arg_max)
