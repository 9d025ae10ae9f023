"""Declarations of ops that are like others, and the ops and attributes that a module declares."""

from __future__ import annotations

import sys
from typing import TypeVar, cast

from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition

T = TypeVar("T")
OpT = TypeVar("OpT", bound=IRDLOperation)


def op_like(base: type[OpT], name: str, meaning: str) -> type[OpT]:
    """Return the class of an op whose only peculiarities are its name and its meaning, the docstring.

    The class of `stablehlo.shift_left` is `ShiftLeftOp`, in the module of the base class.
    """
    class_name = "".join(map(str.capitalize, name.partition(".")[2].split("_"))) + "Op"
    body = {"__doc__": meaning, "__module__": base.__module__, "name": name}
    return irdl_op_definition(cast("type[OpT]", type(class_name, (base,), body)))


def declared_ops(module: str) -> tuple[type[Operation], ...]:
    """Return the op classes that a module has declared so far, in order, without base classes, which have no name.

    Call it with `__name__` at the end of the module.
    """
    return _declared(module, Operation)


def declared_attributes(*modules: str) -> list[type[Attribute]]:
    """Return the classes of attributes and types that modules have declared so far, like `declared_ops`."""
    return [each for module in modules for each in _declared(module, Attribute)]


def _declared(module: str, kind: type[T]) -> tuple[type[T], ...]:
    types = (
        each for each in vars(sys.modules[module]).values() if isinstance(each, type) and each.__module__ == module
    )
    return tuple(each for each in types if "name" in vars(each) and issubclass(each, kind))
