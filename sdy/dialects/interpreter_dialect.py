"""The `interpreter` dialect: ops for the interpreter only, such as printing a value."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
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

from sdy.dialects.stablehlo.base import FormattedOp, StablehloOp
from sdy.dialects.stablehlo.syntax.clauses import StringClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import OPERANDS_ONLY, SAME


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
