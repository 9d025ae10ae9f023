"""What every StableHLO op has: named checks, and a syntax put together from the shared forms."""

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
    """An op that MLIR prints in generic form only.

    `CHECKS` are run in order, once the structure that the class declares holds; each raises SdyError.
    """

    CHECKS: ClassVar[tuple[OpCheck, ...]] = ()

    def verify_(self) -> None:
        for check in self.CHECKS:
            check(self)


class FormattedOp(StablehloOp):
    """An op whose syntax is `FORM`."""

    FORM: ClassVar[Form]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.FORM.parse(cls, parser)

    def print(self, printer: Printer) -> None:
        self.FORM.print(self, printer)
