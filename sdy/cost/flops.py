"""Floating point operations of the contractions of a program. A multiplication and an addition count as one each."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.executions import executions
from sdy.cost.op_costs import cost_of_op
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.window import ConvolutionOp

FLOPS: OpTable[int] = OpTable()


@FLOPS.of(DotGeneralOp)
def _of_dot_general(op: DotGeneralOp) -> int:
    contracted = op.dot_dimension_numbers.data.lhs_contracting_dimensions
    return 2 * prod(shape_of(op.result)) * prod(shape_of(op.lhs)[dim] for dim in contracted)


@FLOPS.of(DotOp)
def _of_dot(op: DotOp) -> int:
    return 2 * prod(shape_of(op.result)) * shape_of(op.lhs)[-1]


@FLOPS.of(ConvolutionOp)
def _of_convolution(op: ConvolutionOp) -> int:
    kernel = shape_of(op.rhs)
    features = kernel[op.dimension_numbers.data.kernel_output_feature_dimension]
    return 2 * prod(shape_of(op.result)) * prod(kernel) // max(features, 1)


def contraction_flops(op: Operation) -> int:
    """Return the operations of a `dot_general`, `dot` or `convolution`; 0 for any other op.

    Windows of a convolution that reach into padding count in full.
    """
    return FLOPS.get(op) or 0


def op_flops(op: Operation) -> float:
    """Return the operations of a contraction, and of an op whose work is registered or estimated; 0 for others."""
    cost = None if type(op) in FLOPS else cost_of_op(op)
    return contraction_flops(op) if cost is None else cost.flops


def flops_of(local: ModuleOp) -> int:
    """Return the operations of all contractions and kernels of users that a local program runs on one device."""
    return sum(times * round(op_flops(op)) for op, times in executions(local) if _is_static(op))


def _is_static(op: Operation) -> bool:
    return all(static_shape(value.type) is not None for value in (*op.operands, *op.results))
