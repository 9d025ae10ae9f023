"""The op that ends the bodies of ops of the dialect `mpmd`. Source: docs/spec/07, 3.1."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def
from xdsl.traits import IsTerminator, Pure, ReturnLike

from sdy.dialects.sdy.declared_syntax import DeclaredSyntaxOp


@irdl_op_definition
class ReturnOp(DeclaredSyntaxOp):
    """Return values from the body of a fragment, a named computation or a loop: `mpmd.return %0 : tensor<8xf32>`."""

    name = "mpmd.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
    SYNTAX: ClassVar[str] = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])
