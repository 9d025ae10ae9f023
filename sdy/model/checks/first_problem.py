"""Checks that yield problems in the order in which they are reported; only the first one is looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec

from sdy.diagnostics.diagnostic import Diagnostic

P = ParamSpec("P")
Problems = Iterator[Diagnostic]


def first_problem(check: Callable[P, Problems]) -> Callable[P, Diagnostic | None]:
    """Return a function that returns the first problem that a check yields; None if there is none.

    What follows a `yield` in a check may rely on what was checked before it.
    """

    @wraps(check)
    def first(*args: P.args, **kwargs: P.kwargs) -> Diagnostic | None:
        return next(check(*args, **kwargs), None)

    return first
