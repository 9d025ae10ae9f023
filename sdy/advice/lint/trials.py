"""Trials of fixes on copies of a program, each of which partitions the program, and how many of them there are."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from sdy.advice.edits import Change, edited
from sdy.advice.lint.finding import Fix
from sdy.advice.lint.price import Price
from sdy.compile.compiled import Compiled
from sdy.compile.trials import TrialPartitions
from sdy.diagnostics.diagnostic import SdyError
from sdy.diagnostics.progress import TimeUpError, stage, stopping_at
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.verification.verify_module import verify_module

OPS_IN_TRIALS = 6_000  # so that the trials take some ten seconds
MIN_TRIALS, MAX_TRIALS = 8, 64


def default_trials(module: ModuleOp) -> int:
    """Return the number of trials that take some ten seconds."""
    count = sum(1 for _ in pre_order(module))
    return max(MIN_TRIALS, min(MAX_TRIALS, OPS_IN_TRIALS // max(1, count)))


class UntriedError(Exception):
    """The error that the effect of a fix is not known: the trials are used up, or the time is."""


class Trials:
    """The trials of fixes of a program: equal fixes are tried once.

    At most `count` fixes are tried, by default as many as take some ten seconds, and none after `seconds`.
    """

    def __init__(
        self, program: Compiled[Any], price: Callable[[ModuleOp], Price], count: int | None, seconds: float | None
    ) -> None:
        self._end = inf if seconds is None else monotonic() + seconds
        self._written, self._price = program.written, price
        self._partitions = TrialPartitions(program.origin, program.options)
        self._left = default_trials(program.written) if count is None else count
        self._known: dict[tuple[Change, ...], tuple[ModuleOp, Price] | None] = {}

    def result(self, fix: Fix) -> tuple[ModuleOp, Price] | None:
        """Return the local program of an edited copy and its price, or None if the edit is not valid.

        Raises: UntriedError if all trials are used up, or if the time ends before the effect is known.
        """
        if fix.changes not in self._known:
            if self._left <= 0 or monotonic() > self._end:
                raise UntriedError
            try:
                with stopping_at(self._end), stage(f"fix {len(self._known) + 1}"):
                    self._known[fix.changes] = self._tried(fix)
            except TimeUpError as error:
                raise UntriedError from error
            self._left -= 1
        return self._known[fix.changes]

    def _tried(self, fix: Fix) -> tuple[ModuleOp, Price] | None:
        module, _ = edited(self._written, fix.changes)
        try:
            verify_module(module)
            local = self._partitions.local(module)
        except SdyError:
            return None  # for example because an axis would be used twice
        return local, self._price(local)
