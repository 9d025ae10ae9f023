"""What expands an op: given where to put ops, and the operands in one shape, it records ops and gives the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from sdy.passes.chlo.traced import Recorder

Expansion = Callable[[Recorder, Sequence[SSAValue]], Sequence[SSAValue]]
