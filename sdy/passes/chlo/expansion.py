"""The type of expansions: functions from a recorder and operands of one shape to the results of recorded ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from sdy.passes.chlo.traced import Recorder

Expansion = Callable[[Recorder, Sequence[SSAValue]], Sequence[SSAValue]]
