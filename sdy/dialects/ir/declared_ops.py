"""The ops that a module declares."""

from __future__ import annotations

import sys

from xdsl.ir import Operation


def declared_ops(module: str) -> tuple[type[Operation], ...]:
    """Return the op classes that a module has declared so far, in order, without base classes, which have no name.

    Call it with `__name__` at the end of the module.
    """
    declared = (each for each in vars(sys.modules[module]).values() if isinstance(each, type))
    return tuple(
        each for each in declared if issubclass(each, Operation) and each.__module__ == module and "name" in vars(each)
    )
