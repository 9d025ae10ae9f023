"""Estimates of a run on simulated devices: how much memory it takes, and how long.

A run holds each value once per different copy (see `DeviceCopies`). The rates are those of NumPy on one core of a
laptop: an estimate is right within a factor of about three, which is enough to tell minutes from days.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.cost.executions import executions
from sdy.cost.flops import contraction_flops, is_static
from sdy.cost.memory import bytes_of_tensor, peak
from sdy.cost.quantities import rounded_bytes
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.ir.walk import pre_order
from sdy.evidence.runs.device_copies import DeviceCopies
from sdy.model.devices.placement import ProgramPlacement

FLOPS_PER_SECOND = 2e10
BYTES_PER_SECOND = 5e8  # of results of ops
SECONDS_PER_OP = 2e-5

MOST_SECONDS = 600.0  # of a run that is not asked for
_MEMORY_INFO = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The memory and the time that a run takes."""

    bytes: int
    seconds: float

    def __add__(self, other: RunEstimate) -> RunEstimate:
        """Return the estimate of one run after another one."""
        return RunEstimate(max(self.bytes, other.bytes), self.seconds + other.seconds)

    def __str__(self) -> str:
        """Return the time and the memory in words."""
        return f"{duration_text(self.seconds)} and about {rounded_bytes(self.bytes)} of memory"


def estimate_of_run(module: ModuleOp, *, is_freed: bool = True) -> RunEstimate:
    """Return the estimate of a run of the main function on one device.

    Without `is_freed`, it is as if no memory were freed during the run, which is known in much less time.
    """
    return _estimate(module, lambda value: 1, is_freed=is_freed)


def estimate_on_devices(local: ModuleOp, boundary: ProgramPlacement, *, is_freed: bool = True) -> RunEstimate:
    """Return the estimate of a run of a local program on all devices at once; see `estimate_of_run`."""
    return _estimate(local, DeviceCopies(local, boundary).count, is_freed=is_freed)


def _estimate(module: ModuleOp, copies: Callable[[SSAValue], int], *, is_freed: bool) -> RunEstimate:
    def size(value: SSAValue) -> int:
        return bytes_of_tensor(value) * copies(value)

    if is_freed:
        most = peak(module, size, is_compiled=False)
    else:
        results = (result for op in pre_order(module) for result in op.results)
        most = sum(map(size, (*main_block(module).args, *results)))
    return RunEstimate(most, _total_seconds(module, size, copies))


def _total_seconds(module: ModuleOp, size: Callable[[SSAValue], int], copies: Callable[[SSAValue], int]) -> float:
    seconds = 0.0
    for op, times in executions(module):
        if is_static(op):
            flops = contraction_flops(op) * max(map(copies, op.results), default=1) / FLOPS_PER_SECOND
            seconds += times * (SECONDS_PER_OP + flops + sum(map(size, op.results)) / BYTES_PER_SECOND)
    return seconds


def available_bytes() -> int:
    """Return the memory that this process may still take: what the machine has available, within limits of the process.

    Without `/proc`, return the memory of the machine.
    """
    try:
        lines = _MEMORY_INFO.read_text(encoding="ascii").splitlines()
        found = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return found if soft == resource.RLIM_INFINITY else min(found, soft)


def check_memory(estimate: RunEstimate, module: ModuleOp, hint: str | None = None) -> None:
    """Raise SdyError SDY-X150 if a run takes more memory than is available."""
    available = available_bytes()
    if estimate.bytes > available:
        message = (
            f"the run does not fit in memory: it takes about {rounded_bytes(estimate.bytes)}, "
            f"{rounded_bytes(available)} are available"
        )
        raise SdyError(Diagnostic("SDY-X150", message, span_of(main_function(module)), hint=hint))


def is_within_budget(estimate: RunEstimate) -> bool:
    """Return whether a run fits in memory, and ends within the time that a run may take that nobody asked for."""
    return estimate.bytes <= available_bytes() and estimate.seconds <= MOST_SECONDS


def duration_text(seconds: float) -> str:
    """Return a time in its largest unit: `about 3.1 hours`."""
    if seconds < 1:
        return "less than a second"
    for unit, size in (("years", 31_536_000), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.3g} {unit}"
    return f"about {seconds:.2g} seconds"
