"""Tables of what is known per op: a sharding rule, a kernel, a cost, a local form.

Each family of ops fills a table of its own; joining them refuses two answers for one op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, cast

from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import InternalError

R = TypeVar("R")
OpT = TypeVar("OpT", bound=Operation)


class OpTable(Generic[R]):
    """Maps op classes to functions from such an op to an `R`.

    Raises: InternalError where two parts, or two functions of one part, answer for the same op class.
    """

    def __init__(self, *parts: OpTable[R]) -> None:
        self._entries: dict[type[Operation], Callable[[Operation], R]] = {}
        for part in parts:
            for op_class, entry in part._entries.items():
                self._add(op_class, entry)

    def of(self, *op_classes: type[OpT]) -> Callable[[Callable[[OpT], R]], Callable[[OpT], R]]:
        """Decorates the function that answers for each of `op_classes`."""

        def register(entry: Callable[[OpT], R]) -> Callable[[OpT], R]:
            for op_class in op_classes:
                self._add(op_class, cast(Callable[[Operation], R], entry))
            return entry

        return register

    def extend(self, part: OpTable[R]) -> None:
        """Add all entries of `part`, or none.

        Raises: InternalError where there is an answer for one of its op classes already.
        """
        taken = next((op_class for op_class in part._entries if op_class in self._entries), None)
        if taken is not None:
            raise InternalError(f"two table entries for {taken.__name__}")
        self._entries.update(part._entries)

    def get(self, op: Operation) -> R | None:
        """What the table says of `op`; None where it does not know its class."""
        entry = self._entries.get(type(op))
        return None if entry is None else entry(op)

    def documentation(self, op_class: type[Operation]) -> str | None:
        """What is written of the function that answers for the class; None where there is none."""
        entry = self._entries.get(op_class)
        return None if entry is None else entry.__doc__ or ""

    def __contains__(self, op_class: type[Operation]) -> bool:
        return op_class in self._entries

    def __iter__(self) -> Iterator[type[Operation]]:
        return iter(self._entries)

    def _add(self, op_class: type[Operation], entry: Callable[[Operation], R]) -> None:
        if op_class in self._entries:
            raise InternalError(f"two table entries for {op_class.__name__}")
        self._entries[op_class] = entry
