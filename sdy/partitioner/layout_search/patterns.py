"""The rewrites by which devices send less, each with its switch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patterns:
    """Which rewrites may be made, and what a collective costs besides its bytes.

    `recut`: an op is cut along other factors: the smaller operand is gathered instead of the larger result reduced.
    `delay`: partial values are added, masked or multiplied first, and reduced once behind.
    `scatter`: a reduction whose result is cut anyway, or gathered later, is a reduce-scatter.
    `share`: devices that would do the same each do a part, and gather over all axes. One reduce-scatter stays alone.
    `reuse`: a value that is wanted in several layouts goes by way of the one from which the others are cheap.
    `step_bytes`: latency times bandwidth; the larger, the fewer collectives there are, be it with more bytes.
    """

    recut: bool = True
    delay: bool = True
    scatter: bool = True
    share: bool = True
    reuse: bool = True
    step_bytes: int = 0
