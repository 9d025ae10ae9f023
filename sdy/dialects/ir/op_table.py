"""Tables from op classes to what is known about such ops: a sharding rule, a kernel, a cost, a local form.

Each op family fills its own table; joining tables fails if two of them have an entry for the same op class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Concatenate, Generic, TypeVar, cast

from typing_extensions import ParamSpec  # its default: most functions take an op alone
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import InternalError
from sdy.diagnostics.user_code import require_callable

R = TypeVar("R")
P = ParamSpec("P", default=[])
OpT = TypeVar("OpT", bound=Operation)


class OpTable(Generic[R, P]):
    """A map from op classes to functions that take such an op, then arguments `P` if there are any, and return an `R`.

    Raises: InternalError if two tables, or two functions of one table, are registered for the same op class.
    """

    def __init__(self, *tables: OpTable[R, P]) -> None:
        self._entries: dict[type[Operation], Callable[Concatenate[Operation, P], R]] = {}
        for table in tables:
            for op_class, entry in table._entries.items():
                self._add(op_class, entry)

    def of(
        self, *op_classes: type[OpT]
    ) -> Callable[[Callable[Concatenate[OpT, P], R]], Callable[Concatenate[OpT, P], R]]:
        """Return a decorator that registers a function for each of `op_classes`.

        It raises SdyError SDY-T213 for anything but a function.
        """

        def register(entry: Callable[Concatenate[OpT, P], R]) -> Callable[Concatenate[OpT, P], R]:
            for op_class in op_classes:
                require_callable(entry, f"OpTable.of({op_class.__name__})")
                self._add(op_class, cast(Callable[Concatenate[Operation, P], R], entry))
            return entry

        return register

    def extend(self, table: OpTable[R, P]) -> None:
        """Add all entries of `table`, or none of them.

        Raises: ValueError if this table already has an entry for one of its op classes.
        """
        duplicate = next((op_class for op_class in table._entries if op_class in self._entries), None)
        if duplicate is not None:
            raise ValueError(f"a function for {duplicate.__name__} is already registered")
        self._entries.update(table._entries)

    def with_entries(
        self, change: Callable[[Callable[Concatenate[Operation, P], R]], Callable[[Operation], R]]
    ) -> OpTable[R]:
        """Return a table of the same op classes, with `change` of each function, which takes an op alone."""
        table = OpTable[R]()
        table._entries = {op_class: change(entry) for op_class, entry in self._entries.items()}
        return table

    def get(self, op: Operation, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Return the entry for `op`, or None if its class has no entry."""
        entry = self._entries.get(type(op))
        return None if entry is None else entry(op, *args, **kwargs)

    def entry(self, op_class: type[Operation]) -> Callable[Concatenate[Operation, P], R] | None:
        """Return the function registered for the class, or None if there is none."""
        return self._entries.get(op_class)

    def documentation(self, op_class: type[Operation]) -> str | None:
        """Return the docstring of the function registered for the class, or None if there is none."""
        entry = self.entry(op_class)
        return None if entry is None else entry.__doc__ or ""

    def __contains__(self, op_class: type[Operation]) -> bool:
        return op_class in self._entries

    def __iter__(self) -> Iterator[type[Operation]]:
        return iter(self._entries)

    def _add(self, op_class: type[Operation], entry: Callable[Concatenate[Operation, P], R]) -> None:
        if op_class in self._entries:
            raise InternalError(f"two table entries for {op_class.__name__}")
        self._entries[op_class] = entry
