"""A record, for debugging a propagation, of which operand or result each axis came from, step by step.

Source: docs/spec/01, 1.4.12 and 8.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sdy.model.axis import AxisRef


class EdgeNodeKind(Enum):
    """The kind of a node: an operand or a result of the op. The enum value is the keyword in the text."""

    OPERAND = "operand"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class EdgeNode:
    """An operand or a result of the op."""

    kind: EdgeNodeKind
    index: int

    def __str__(self) -> str:
        return f"{self.kind.value}-{self.index}"


class AxisFlow(NamedTuple):
    """An axis that was propagated from `source` to `targets`."""

    axis: AxisRef
    source: EdgeNode
    targets: tuple[EdgeNode, ...]


@dataclass(frozen=True, slots=True)
class PropagationStep:
    """All axes that one step of the propagation moved at the op."""

    index: int
    flows: tuple[AxisFlow, ...]


PropagationEdges = tuple[PropagationStep, ...]
