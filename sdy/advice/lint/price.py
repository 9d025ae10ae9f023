"""The price of a partitioned program: bytes sent, seconds and memory of one device, and how prices compare."""

from __future__ import annotations

from operator import add
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from sdy.cost.allocation.buffers import aliased_results
from sdy.cost.hardware import Hardware
from sdy.cost.memory import peak_bytes
from sdy.cost.quantities import seconds_text
from sdy.cost.schedule import schedule_of
from sdy.cost.traffic import sends_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import tensor_bytes
from sdy.model.mesh import Mesh

ROUNDING = 1e-9  # relative; prices that differ by less are equal


class Cost(NamedTuple):
    """A part of the price of a program on one device: bytes sent, seconds, and bytes of memory."""

    bytes_sent: float = 0.0
    seconds: float = 0.0
    memory: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(*map(add, self, other))

    def times(self, share: float) -> Cost:
        """Return a share of the cost."""
        return Cost(*(part * share for part in self))

    def covers(self, other: Cost) -> bool:
        """Return whether no part of another cost that is not zero is larger."""
        return all(own >= part * (1 - ROUNDING) for own, part in zip(self, other, strict=True) if part)

    def __str__(self) -> str:
        """Return the parts that are not zero: `1,024 bytes sent, 3.02 µs, 512 bytes of memory`."""
        texts = [
            f"{round(self.bytes_sent):,} bytes sent" if round(self.bytes_sent) else "",
            seconds_text(self.seconds) if self.seconds >= 1e-10 else "",
            f"{round(self.memory):,} bytes of memory" if round(self.memory) else "",
        ]
        return ", ".join(filter(None, texts)) or "nothing"


class Price(NamedTuple):
    """The totals of one device in one run of a program.

    `boundary_bytes` is the memory of the arguments and results, which a caller keeps between runs. A donated argument
    whose result has the same shard shape counts once.
    """

    bytes_sent: float
    seconds: float
    peak_bytes: int
    boundary_bytes: int

    def is_at_most(self, other: Price) -> bool:
        """Return whether no total is larger than that of another price."""
        return all(own <= total * (1 + ROUNDING) for own, total in zip(self, other, strict=True))

    def saved_from(self, before: Price) -> Cost:
        """Return what is saved by this price instead of the one before; a part is negative where more is spent.

        The memory is that of the peak, or of the arguments and results where more is saved there.
        """
        peak, boundary = before.peak_bytes - self.peak_bytes, before.boundary_bytes - self.boundary_bytes
        memory = max(peak, boundary) if min(peak, boundary) >= 0 else min(peak, boundary)
        return Cost(before.bytes_sent - self.bytes_sent, before.seconds - self.seconds, memory)

    @property
    def as_cost(self) -> Cost:
        """The bytes sent, the seconds and the peak memory."""
        return Cost(self.bytes_sent, self.seconds, self.peak_bytes)


def price_of(local: ModuleOp, mesh: Mesh, hardware: Hardware) -> Price:
    """Return the price of a local program on the devices of a mesh."""
    seconds, boundary = schedule_of(local, mesh, hardware).seconds, _boundary_bytes(main_function(local))
    return Price(sends_of(local).bytes, seconds, peak_bytes(local), boundary)


def _boundary_bytes(func: FuncOp) -> int:
    arguments, results = func.function_type.inputs.data, func.function_type.outputs.data
    reused = sum(tensor_bytes(arguments[a]) for a, r in aliased_results(func).items() if arguments[a] == results[r])
    return sum(map(tensor_bytes, (*arguments, *results))) - reused
