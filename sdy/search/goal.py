"""The quantities that a search can minimize."""

from __future__ import annotations

from enum import Enum

from sdy.cost.program_cost import ProgramCost
from sdy.search.transfer_costs import Objective


class Goal(Enum):
    """The quantity to minimize. The enum value is its name for users."""

    TIME = "time"
    BYTES = "bytes"
    MEMORY = "memory"

    def of(self, cost: ProgramCost) -> float:
        """Return the quantity in a cost."""
        match self:
            case Goal.TIME:
                return cost.seconds_in_turn
            case Goal.BYTES:
                return cost.bytes_sent
            case Goal.MEMORY:
                return float(cost.peak_bytes)

    def objectives(self) -> tuple[Objective, ...]:
        """Return the objectives of the cost networks that are solved."""
        if self is Goal.BYTES:
            return (Objective(seconds=1.0, bytes_sent=1.0),)  # seconds decide between equal bytes
        return (Objective(), Objective(latency=0.1))
