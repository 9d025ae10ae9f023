"""Random number generators and their checks."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.enums import EnumDataAttr, RngAlgorithmAttr, RngDistribution, RngDistributionAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.requirements import (
    check_float_operand,
    check_indices,
    check_real_operand,
    fail,
    require_same_element_type,
    require_same_shape,
    require_shape,
    shape,
)
from sdy.dialects.stablehlo.syntax.clauses import EnumClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.text.ssa_names import SuggestsResultNames


def check_rng_bit_generator(op: Operation) -> None:
    """Check that the output state has the shape of the initial state."""
    require_same_shape(op, (op.operands[0], op.results[0]))


def check_rng(op: Operation) -> None:
    """Check that `a` and `b` are real scalars, and that `shape` has one element per dim of the result.

    The parameters of a normal distribution are floats.
    """
    a, b, sizes = op.operands
    result = op.results[0]
    require_same_element_type(op, (a, b, result))
    is_normal = cast("EnumDataAttr[RngDistribution]", op.properties["rng_distribution"]).data is RngDistribution.NORMAL
    (check_float_operand if is_normal else check_real_operand)(op)
    for parameter in (a, b):
        require_shape(op, parameter, (), "a parameter of the distribution")
    if len(shape(op, sizes)) != 1:
        fail(op, "SDY-D011", f"shape must be a tensor of rank 1, got {sizes.type}")
    require_shape(op, sizes, (len(shape(op, result)),), "one size per dim of the result")


@irdl_op_definition
class RngOp(FormattedOp):
    """Draw numbers from a distribution with parameters `a` and `b`, with a generator that the backend chooses.

    `stablehlo.rng %0, %1, %2, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>`
    """

    name = "stablehlo.rng"
    a = operand_def()
    b = operand_def()
    shape = operand_def()
    rng_distribution = prop_def(RngDistributionAttr)
    result = result_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_rng, check_indices(2))
    FORM: ClassVar[Form] = Form(clauses=(EnumClause("distribution", "rng_distribution", RngDistributionAttr),))


@irdl_op_definition
class RngBitGeneratorOp(FormattedOp, SuggestsResultNames):
    """Return the next state of a generator, and random bits.

    `stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)`
    """

    name = "stablehlo.rng_bit_generator"
    initial_state = operand_def()
    rng_algorithm = prop_def(RngAlgorithmAttr)
    output_state = result_def()
    output = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_rng_bit_generator,)
    FORM: ClassVar[Form] = Form(clauses=(EnumClause("algorithm", "rng_algorithm", RngAlgorithmAttr),))


OPS = declared_ops(__name__)
