"""Random number generators."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.enums import RngAlgorithmAttr, RngDistributionAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.element_kinds import check_indices
from sdy.dialects.stablehlo.checks.random import check_rng, check_rng_bit_generator
from sdy.dialects.stablehlo.syntax.clauses import EnumClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.text.ssa_names import SuggestsResultNames


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

    def result_names(self) -> tuple[str, str]:
        return ("output_state", "output")


OPS = declared_ops(__name__)
