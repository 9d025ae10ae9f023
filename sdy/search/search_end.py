"""The reasons for which a search ends, and the rule by which it ends without further gains."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from time import monotonic

LEAST_PATIENCE = 5.0  # seconds without a gain
SHARE_OF_LIMIT = 1 / 12  # of the time limit that the search goes on without a gain: a longer limit asks for more
SHARE_OF_PATIENCE = 0.5  # of the time up to the last gain that the search goes on without another one


class SearchEnd(Enum):
    """The reason why a search ended. The enum value is the name in JSON."""

    SOLVED = "solved"  # the program is so large that only solutions of the network are partitioned
    TOO_LITTLE = "too-little-to-save"
    BOUND = "bound"
    NOTHING_BETTER = "nothing-better"
    NO_GAIN = "no-gain"
    TIME_UP = "time-limit"
    INTERRUPT = "interrupt"

    @property
    def is_complete(self) -> bool:
        """Return whether neither the time limit nor the user ended the search."""
        return self not in (SearchEnd.TIME_UP, SearchEnd.INTERRUPT)

    @property
    def text(self) -> str:
        """The end of a sentence about the programs that were partitioned."""
        match self:
            case SearchEnd.SOLVED | SearchEnd.TOO_LITTLE:
                return ""
            case SearchEnd.BOUND:
                return "; the best one reaches the lower bound for plans whose collectives combine"
            case SearchEnd.NOTHING_BETTER:
                return "; no other change of one decision is better"
            case SearchEnd.NO_GAIN:
                return "; the last changes of one decision were not better"
            case SearchEnd.TIME_UP | SearchEnd.INTERRUPT:
                return " before time was up; a longer search may find a better plan"


@dataclass(slots=True)
class Progress:
    """The time of a search until `end`, and until its last gain. `start` and `last_gain` are times of `monotonic`.

    A search that has found nothing better for half the time that its best plan took is not likely to find much: the
    gains that are left would cost more time than all those before.
    """

    end: float
    start: float = field(init=False)
    last_gain: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.last_gain = monotonic()

    def note_gain(self) -> None:
        """Note that a better plan was found."""
        self.last_gain = monotonic()

    def reached_end(self) -> SearchEnd | None:
        """Return the reason to stop now; None if there is none."""
        now = monotonic()
        if now > self.end:
            return SearchEnd.TIME_UP
        patience = max(
            LEAST_PATIENCE, SHARE_OF_LIMIT * (self.end - self.start), SHARE_OF_PATIENCE * (self.last_gain - self.start)
        )
        return SearchEnd.NO_GAIN if now - self.last_gain > patience else None
