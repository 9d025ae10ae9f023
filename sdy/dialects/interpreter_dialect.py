"""The `interpreter` dialect: ops that only an interpreter can run."""

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
from sdy.dialects.stablehlo.syntax.clauses import String
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import OPERANDS_ONLY, SAME


@irdl_op_definition
class PrintOp(StablehloOp):
    """Prints a value.

    `interpreter.print %0 : tensor<2xi32>` is read; written it is in the generic form, which tools read that know the
    op as one of an unregistered dialect alone.
    """

    name = "interpreter.print"
    operand = operand_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return Form(signature=OPERANDS_ONLY).parse(cls, parser)


@irdl_op_definition
class ProbeOp(FormattedOp):
    """Gives its operand, and writes it to a file.

    `interpreter.probe %0, probe_id = "probe" : tensor<2xi32>`
    """

    name = "interpreter.probe"
    operand = operand_def()
    probe_id = prop_def(StringAttr)
    result = result_def()
    FORM: ClassVar[Form] = Form(clauses=(String("probe_id", "probe_id"),), signature=SAME)


@irdl_op_definition
class RunParallelOp(StablehloOp):
    """Runs a grid of functions at the same time: a row per replica, a column per partition.

    The inputs are the arguments of all functions in turn, the results what all give in turn. `infeed` names the
    functions that compute what the programs read.
    """

    name = "interpreter.run_parallel"
    inputs = var_operand_def()
    infeed = opt_prop_def(ArrayAttr[SymbolRefAttr])
    programs = prop_def(ArrayAttr[ArrayAttr[SymbolRefAttr]])
    result = var_result_def()


INTERPRETER = Dialect("interpreter", [PrintOp, ProbeOp, RunParallelOp], [])
