"""The ops that a module declares."""

from __future__ import annotations

import sys

from xdsl.ir import Operation


def declared_ops(module: str) -> tuple[type[Operation], ...]:
    """Return the op classes that a module has declared so far, in order, without base classes, which have no name.

    Call it with `__name__` at the end of the module.
    """
    types = (
        each for each in vars(sys.modules[module]).values() if isinstance(each, type) and each.__module__ == module
    )
    return tuple(each for each in types if "name" in vars(each) and issubclass(each, Operation))
