"""The dialects `check` and `interpreter` of the reference interpreter: comparing, printing and probing, and grids."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    f64,
)
from xdsl.ir import Dialect
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.base import FormattedOp, StablehloOp
from sdy.dialects.stablehlo.syntax.clauses import FloatClause, IntClause, StringClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import EACH_OPERAND, OPERANDS_ONLY, SAME

TOLERANCE = FloatAttr(1e-4, f64)
ui64 = IntegerType(64, Signedness.UNSIGNED)


@irdl_op_definition
class ExpectEqOp(FormattedOp):
    """Fail unless both operands are bitwise equal.

    `check.expect_eq %0, %1 : tensor<2xi32>`
    """

    name = "check.expect_eq"
    lhs = operand_def()
    rhs = operand_def()
    FORM: ClassVar[Form] = Form(signature=OPERANDS_ONLY)


@irdl_op_definition
class ExpectAlmostEqOp(FormattedOp):
    """Fail unless every element of `lhs` is within `tolerance` of `rhs`, relative to `rhs` where that exceeds 1.

    `check.expect_almost_eq %0, %1, tolerance = 1.000000e-02 : tensor<2xf32>`
    """

    name = "check.expect_almost_eq"
    lhs = operand_def()
    rhs = operand_def()
    tolerance = opt_prop_def(FloatAttr.constr(f64), default_value=TOLERANCE)
    FORM: ClassVar[Form] = Form(
        clauses=(FloatClause("tolerance", "tolerance", is_optional=True, default=TOLERANCE),),
        signature=OPERANDS_ONLY,
    )


@irdl_op_definition
class ExpectCloseOp(FormattedOp):
    """Fail unless the distance of the operands, in representable values, is within two bounds in every element.

    `check.expect_close %0, %1, max_ulp_difference = 2 : tensor<2xf32>, tensor<2xf32>`
    """

    name = "check.expect_close"
    actual = operand_def()
    expected = operand_def()
    max_ulp_difference = opt_prop_def(IntegerAttr.constr(ui64), default_value=IntegerAttr(3, ui64))
    min_ulp_difference = opt_prop_def(IntegerAttr.constr(ui64), default_value=IntegerAttr(0, ui64))
    FORM: ClassVar[Form] = Form(
        clauses=(
            IntClause("min_ulp_difference", "min_ulp_difference", is_optional=True, integer=ui64),
            IntClause("max_ulp_difference", "max_ulp_difference", is_optional=True, integer=ui64),
        ),
        signature=EACH_OPERAND,
    )


class ExpectConstOp(StablehloOp):
    """Base class of comparisons with a constant; the type of the constant is that of the operand."""

    lhs = operand_def()
    value = prop_def(DenseElementsAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseElementsAttr):
            parser.raise_error(f"expected dense<...> : type, got {value}", position, parser.pos)
        attributes = parser.parse_optional_attr_dict()
        properties = {name: attributes.pop(name) for name in ("tolerance",) if name in attributes}
        return cls.create(
            operands=[parser.resolve_operand(operand, value.type)],
            properties={"value": value, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_attribute(self.value)
        printer.print_op_attributes({**self.properties, **self.attributes}, reserved_attr_names=("value",))


@irdl_op_definition
class ExpectEqConstOp(ExpectConstOp):
    """Fail unless the operand is bitwise equal to a constant.

    `check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>`
    """

    name = "check.expect_eq_const"


@irdl_op_definition
class ExpectAlmostEqConstOp(ExpectConstOp):
    """Fail unless every element is within `tolerance` of a constant, relative to it where it exceeds 1.

    `check.expect_almost_eq_const %0, dense<1.000000e+00> : tensor<2xf32>`
    """

    name = "check.expect_almost_eq_const"
    tolerance = opt_prop_def(FloatAttr.constr(f64), default_value=TOLERANCE)


@irdl_op_definition
class ExpectSerializedEqOp(FormattedOp):
    """Fail unless the operand equals the value that a probe wrote to a file.

    `check.expect_serialized_eq %0, probe_id = "probe", iter = 1 : tensor<2xi32>`
    """

    name = "check.expect_serialized_eq"
    expected = operand_def()
    probe_id = prop_def(StringAttr)
    iteration = opt_prop_def(IntegerAttr)
    FORM: ClassVar[Form] = Form(
        clauses=(StringClause("probe_id", "probe_id"), IntClause("iter", "iteration", is_optional=True)),
        signature=OPERANDS_ONLY,
    )


CHECK = Dialect(
    "check",
    [
        ExpectEqOp,
        ExpectEqConstOp,
        ExpectAlmostEqOp,
        ExpectAlmostEqConstOp,
        ExpectCloseOp,
        ExpectSerializedEqOp,
    ],
    [],
)


@irdl_op_definition
class PrintOp(StablehloOp):
    """Print a value.

    The short form `interpreter.print %0 : tensor<2xi32>` is parsed. The op is printed in the generic form, because
    other
    tools know it only as an op of an unregistered dialect.
    """

    name = "interpreter.print"
    operand = operand_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return Form(signature=OPERANDS_ONLY).parse(cls, parser)


@irdl_op_definition
class ProbeOp(FormattedOp):
    """Return the operand, and write it to a file.

    `interpreter.probe %0, probe_id = "probe" : tensor<2xi32>`
    """

    name = "interpreter.probe"
    operand = operand_def()
    probe_id = prop_def(StringAttr)
    result = result_def()
    FORM: ClassVar[Form] = Form(clauses=(StringClause("probe_id", "probe_id"),), signature=SAME)


@irdl_op_definition
class RunParallelOp(StablehloOp):
    """Run a grid of functions at the same time: one row per replica, one column per partition.

    The inputs are the concatenated arguments of all functions, and the results are their concatenated results. `infeed`
    names the functions that compute the values which the programs read from the infeed.
    """

    name = "interpreter.run_parallel"
    inputs = var_operand_def()
    infeed = opt_prop_def(ArrayAttr[SymbolRefAttr])
    programs = prop_def(ArrayAttr[ArrayAttr[SymbolRefAttr]])
    result = var_result_def()


INTERPRETER = Dialect("interpreter", [PrintOp, ProbeOp, RunParallelOp], [])
