"""Base classes of StableHLO ops: named checks, and a syntax composed of shared parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.syntax.op_syntax import Form

OpCheck = Callable[[Operation], None]


class StablehloOp(IRDLOperation):
    """Base class of ops; without custom syntax, an op is printed in generic form.

    `CHECKS` run in order after xDSL has verified the declared structure; each raises SdyError.
    """

    CHECKS: ClassVar[tuple[OpCheck, ...]] = ()

    def verify_(self) -> None:
        for check in self.CHECKS:
            check(self)


class FormattedOp(StablehloOp):
    """Base class of ops whose syntax is declared by `FORM`: by default, operands, attributes and all types."""

    FORM: ClassVar[Form] = Form()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.FORM.parse(cls, parser)

    def print(self, printer: Printer) -> None:
        self.FORM.print(self, printer)
