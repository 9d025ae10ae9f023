"""The filter of instructions to partition: by index in the program, and by substrings of their names.

Source: docs/spec/06, 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

_LOW, _HIGH = "selectLow=", "selectHigh="


@dataclass(frozen=True, slots=True)
class InstructionFilter:
    """Selects instructions `low` to `high`, inclusive, whose name contains one of `names`; None and () do not limit."""

    low: int | None = None
    high: int | None = None
    names: tuple[str, ...] = ()

    def selects(self, number: int, name: str) -> bool:
        """Return whether to partition the instruction with this index, counted from 0.

        >>> parse_filter("dot, selectHigh=3").selects(2, "stablehlo.dot_general")
        True
        """
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            return False
        return not self.names or any(part in name for part in self.names)


def parse_filter(text: str) -> InstructionFilter:
    """Parse a filter such as `dot, selectLow=3`, optionally quoted; a negative or invalid number does not limit."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    low: int | None = None
    high: int | None = None
    names: list[str] = []
    for token in filter(None, map(str.strip, text.split(","))):
        if token.startswith(_LOW):
            low = _limit(token.removeprefix(_LOW), low)
        elif token.startswith(_HIGH):
            high = _limit(token.removeprefix(_HIGH), high)
        else:
            names.append(token)
    return InstructionFilter(low, high, tuple(names))


def _limit(text: str, otherwise: int | None) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return otherwise
    return None if number < 0 else number
