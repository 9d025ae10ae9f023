# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Check a program of the corpus in all placements, and compare the bytes that devices send with XLA's.

`python -m support.library_programs.measure NAME ... [--mesh 8] [--placement data]` prints a line per case, and the
geometric mean of the ratios. Each case runs in this process; XLA, whose compiler ends the process on some programs,
runs in another one.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

import jax

import sdy
from sdy.cost.statistics import HloModule, statistics_of
from support.library_programs.placements import MESHES, jax_mesh, placed, placements_of
from support.library_programs.program import build, missing_library, program_names

TESTS = Path(__file__).resolve().parents[2]
ONLY_XLA, FOUND = "--only-xla", "XLA:"  # libraries may print lines of their own while they are imported
MORE_FLOPS = 1.1  # per FLOP of ours: rounding of uneven shards makes smaller differences


class Case(NamedTuple):
    """A program of the corpus on a mesh, in one of its placements."""

    name: str
    mesh: str
    placement: str

    def __str__(self) -> str:
        return f"{self.name}, mesh {self.mesh}, {self.placement}"


class Work(NamedTuple):
    """The bytes that each device sends, and the floating-point operations of its products."""

    bytes_sent: float
    flops: float


@dataclass(frozen=True)
class Measurement:
    """The work of each device, as partitioned by us and by XLA, and the outputs that are wrong, if any.

    XLA's is None where its compiler ends the process, or rejects the placement.
    """

    case: Case
    ours: Work
    xla: Work | None
    problems: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Our bytes per byte of XLA, 1 if neither sends anything; 1 if those of XLA are unknown."""
        return 1.0 if self.xla is None else (self.ours.bytes_sent + 1) / (self.xla.bytes_sent + 1)

    @property
    def xla_repeats_products(self) -> bool:
        """True if XLA computes some products on several devices, and so has to send fewer bytes."""
        return self.xla is not None and self.xla.flops > MORE_FLOPS * self.ours.flops

    def __str__(self) -> str:
        xla = "unknown" if self.xla is None else f"{self.xla.bytes_sent:.0f}"
        note = ", fewer FLOPs" if self.xla_repeats_products else ""
        return f"{self.case}: {self.ours.bytes_sent:.0f} / {xla} = {self.ratio:.3f}{note} {'; '.join(self.problems)}"


def cases_of(name: str) -> list[Case]:
    """Return a program on all meshes in all placements."""
    placements = placements_of(build(name))
    return [Case(name, mesh, placement) for mesh in MESHES for placement in placements]


def measured(cases: Sequence[Case], work_of_xla: Mapping[Case, Work | None]) -> Iterator[Measurement]:
    """Yield the measurements of cases of one program, for which the work of XLA is given."""
    program = build(cases[0].name)
    expected = jax.jit(program.function)(program.state, program.data)
    for case in cases:
        arguments: tuple[Any, Any] = placed(program, jax_mesh(case.mesh), case.placement, case.name)
        ours = sdy.from_jax(program.function, *arguments)
        problems = tuple(str(each.problem) for each in ours.verify(*arguments, expected=expected) if not each.agrees)
        found = statistics_of(ours.partition().local)
        yield Measurement(case, Work(found.bytes_sent, found.flops), work_of_xla[case], problems)


def xla_work(cases: Sequence[Case]) -> dict[Case, Work | None]:
    """Return the work of each device in cases of one program, as XLA partitions it.

    A new process continues after a case that ended the one before.
    """
    found: dict[Case, Work | None] = {}
    while len(found) < len(cases):
        rest = [each for case in cases[len(found) :] for each in case]
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name if __spec__ else __name__, ONLY_XLA, *rest],
            check=False, capture_output=True, text=True, cwd=TESTS,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            if line.startswith(FOUND):
                figures = [float(each) for each in line.removeprefix(FOUND).split()]
                found[cases[len(found)]] = Work(*figures) if figures else None
        if len(found) < len(cases):
            found[cases[len(found)]] = None
    return found


def _print_work_of_xla(cases: Sequence[Case]) -> None:
    program = build(cases[0].name)
    for case in cases:
        arguments: tuple[Any, Any] = placed(program, jax_mesh(case.mesh), case.placement, case.name)
        try:
            compiled: Any = jax.jit(program.function).lower(*arguments).compile()
        except ValueError:  # JAX rejects shardings of results that do not divide them
            print(FOUND, flush=True)
        else:
            work = HloModule(compiled.as_text()).statistics(peak_bytes=0)
            print(FOUND, work.bytes_sent, work.flops, flush=True)


def main(arguments: Sequence[str]) -> None:
    """Measure the cases that the command line names."""
    if arguments[:1] == [ONLY_XLA]:
        texts = list(arguments[1:])
        _print_work_of_xla([Case(*texts[index : index + 3]) for index in range(0, len(texts), 3)])
        return
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"])
    parser.add_argument("--mesh", choices=MESHES)
    parser.add_argument("--placement")
    options = parser.parse_args(arguments)
    logs: list[float] = []
    for name in program_names():
        if missing_library(name) is None and any(fnmatch(name, pattern) for pattern in options.names):
            cases = [
                case
                for case in cases_of(name)
                if options.mesh in (None, case.mesh) and options.placement in (None, case.placement)
            ]
            for found in measured(cases, xla_work(cases)) if cases else ():
                print(found, flush=True)
                logs.append(log(found.ratio))
    if logs:
        print(f"geometric mean of {len(logs)} cases: {exp(sum(logs) / len(logs)):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
