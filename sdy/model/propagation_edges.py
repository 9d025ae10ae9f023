"""Which operand or result brought an axis to an op, step by step: a record for people who debug a propagation.

Source: docs/spec/01, 1.4.12 and 8.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sdy.model.axis import AxisRef


class EdgeNodeKind(Enum):
    """Where a value stands at its op. The value is the word in the text."""

    OPERAND = "operand"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class EdgeNode:
    """One operand or result of the op."""

    kind: EdgeNodeKind
    index: int

    def __str__(self) -> str:
        return f"{self.kind.value}-{self.index}"


@dataclass(frozen=True, slots=True)
class AxisFlow:
    """An axis came from `source` and was given to `targets`."""

    axis: AxisRef
    source: EdgeNode
    targets: tuple[EdgeNode, ...]


@dataclass(frozen=True, slots=True)
class PropagationStep:
    """Everything that one step of the propagation did at the op."""

    index: int
    flows: tuple[AxisFlow, ...]


PropagationEdges = tuple[PropagationStep, ...]
