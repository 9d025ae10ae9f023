"""The table of seeded faults: a name, the ops that a fault applies to, and how it changes such an op."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)
Change = Callable[[OpT, random.Random], bool]
"""Changes an op, and returns True; returns False, and changes nothing, if the fault does not apply to the op."""


@dataclass(frozen=True)
class FaultTable:
    """Faults by name: the classes of ops that a fault applies to, and the function that changes such an op."""

    entries: dict[str, tuple[tuple[type[Operation], ...], Change[Operation]]] = field(default_factory=lambda: {})

    def of(self, name: str, *op_classes: type[OpT]) -> Callable[[Change[OpT]], Change[OpT]]:
        """Return a decorator that registers a function as a fault of these ops."""

        def register(change: Change[OpT]) -> Change[OpT]:
            self.entries[name] = op_classes, cast("Change[Operation]", change)
            return change

        return register

    def names_for(self, op: Operation) -> list[str]:
        """Return the names of the faults that may apply to an op."""
        return [name for name, (op_classes, _) in self.entries.items() if isinstance(op, op_classes)]

    def change(self, name: str, op: Operation, choice: random.Random) -> bool:
        """Change an op by a fault; return whether it applies."""
        return self.entries[name][1](op, choice)
