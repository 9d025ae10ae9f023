"""The rewrites with which devices send fewer bytes, each with an option."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patterns:
    """The enabled rewrites, and the fixed cost of a collective."""

    # Shard an op along other factors: gather the smaller operand instead of reducing the larger result.
    recut: bool = True
    # Add, mask or multiply partial values first, and reduce them once afterwards.
    delay: bool = True
    # Reduce-scatter a value if its result is sharded, or gathered later.
    scatter: bool = True
    # Devices with equal partial values each reduce a slice, and gather over all axes. A reduce-scatter is not changed.
    share: bool = True
    # Transfer a value that is used in several layouts to the layout from which the others are cheap.
    reuse: bool = True
    # Latency times bandwidth. The larger it is, the fewer collectives there are, even if they send more bytes.
    step_bytes: int = 0
