"""The options of a search: the meshes to try, the machine, and the quantity to minimize, which orders candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise, starmap
from operator import ge
from typing import Any, TypeVar

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.written_program import WrittenProgram
from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import byte_count
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.mesh import Mesh, MeshAxis
from sdy.report.notation import read_mesh
from sdy.search.transfer_costs import Objective

P = TypeVar("P", bound=WrittenProgram[Any])
AXIS_NAMES = ("x", "y", "z")
SECONDS = 60.0
MEMORY_EXPONENT = 4  # so that a candidate that does not fit is worse than a much slower one


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


class Partition(Enum):
    """The partition of a program whose cost counts. The enum value describes it in a report."""

    FASTEST = "with the communication optimizer or without it, whichever is faster, as in `sdy cost --minimize time`"
    WRITTEN = "with the communication optimizer as in the options of the program"
    JIT = "without the communication optimizer, as `jax.jit` lowers each op by itself"

    def of(self, program: P, hardware: Hardware) -> P:
        """Return a program with the options of the partition."""
        match self:
            case Partition.FASTEST:
                return program.optimized_for(hardware)
            case Partition.WRITTEN:
                return program
            case Partition.JIT:
                return program.without_optimizer()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The options of a search.

    `meshes` are the candidates; without any, the mesh of the program. `fixed` maps names of arguments or results to
    shardings, in any notation. With `from_scratch`, annotations of the program are dropped. `seconds` limits the time.
    With `overlap`, the time that decides is that with communication fully overlapped with computation. A plan has at
    most `constraints` sharding constraints inside the program; None for any number. `options` are those of the program.
    With `is_short`, plans are not improved after the solution of the network: for a diagnosis in passing.
    `state` has the number of each result that is the next value of an argument, with that of the argument: it gets the
    sharding of the argument. `partition` is the partition of a program that has the cost.
    """

    hardware: Hardware
    free_bytes: float
    goal: Goal = Goal.TIME
    meshes: tuple[Mesh, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    from_scratch: bool = False
    seconds: float = SECONDS
    overlap: bool = False
    constraints: int | None = None
    options: CompileOptions = DEFAULT
    state: Mapping[int, int] = field(default_factory=dict[int, int])
    partition: Partition = Partition.FASTEST
    is_short: bool = False

    def price_of(self, cost: ProgramCost) -> float:
        """Return the quantity to minimize."""
        return cost.seconds_overlapped if self.overlap and self.goal is Goal.TIME else self.goal.of(cost)

    def score(self, cost: ProgramCost) -> float:
        """Return the quantity to minimize, increased by the memory that is missing."""
        missing = max(1.0, cost.peak_bytes / self.free_bytes)
        return self.price_of(cost) * missing**MEMORY_EXPONENT

    def rank(self, cost: ProgramCost) -> tuple[bool, float]:
        """Return a key that is smaller for better plans: what fits in memory comes first."""
        return not cost.fits, self.price_of(cost) if cost.fits else cost.peak_bytes


def search_request(
    hardware: Hardware,
    mesh: str | None = None,
    devices: int | None = None,
    memory: float | str | None = None,
    minimize: str = "time",
    fix: Mapping[str, object] | None = None,
    seconds: float = SECONDS,
    *,
    from_scratch: bool = False,
    overlap: bool = False,
    constraints: int | None = None,
    axis_names: Sequence[str] = (),
) -> SearchRequest:
    """Return the request for options as users write them: `mesh="data=16,model=4"`, `memory="14GB"`.

    With `devices`, the axes of the meshes have `axis_names` as far as there are so many.

    Raises: SdyError SDY-T252 if an option is malformed, or if both a mesh and a number of devices are given; errors of
    the notation of meshes.
    """
    if mesh is not None and devices is not None:
        raise wrong_request("mesh and devices exclude each other")
    goals = {goal.value: goal for goal in Goal}
    if constraints is not None and constraints < 0:
        raise wrong_request(f"constraints: expected a number from 0 on, got {constraints}")
    if minimize not in goals:
        raise wrong_request(f"minimize: expected one of {', '.join(goals)}, got {minimize!r}")
    try:
        free_bytes = hardware.hbm_bytes if memory is None else byte_count(memory)
    except ValueError as error:
        raise wrong_request(f"memory: {error}") from None
    meshes = (_mesh(mesh),) if mesh is not None else ()
    if devices is not None:
        meshes = tuple(meshes_of_devices(devices, axis_names))
    fixed = {name: str(sharding) for name, sharding in (fix or {}).items()}
    places = meshes, fixed, from_scratch, seconds, overlap, constraints
    return SearchRequest(hardware, free_bytes, goals[minimize], *places)


def _mesh(text: str) -> Mesh:
    found = read_mesh(text)
    if not found.axes:
        raise wrong_request(f"mesh: expected at least one axis, got {text!r}")
    return found


def meshes_of_devices(count: int, axis_names: Sequence[str] = ()) -> Iterator[Mesh]:
    """Yield the meshes of one to three axes for a number of devices, the larger axes first.

    The axes have `axis_names`, and after these x, y and z.

    >>> [" ".join(str(axis.size) for axis in mesh.axes) for mesh in meshes_of_devices(8)]
    ['8', '4 2', '2 2 2']

    Raises: SdyError SDY-T252 if there are fewer than two devices.
    """
    if count < 2:
        raise wrong_request(f"devices: expected at least 2, got {count}")
    names = list(dict.fromkeys((*axis_names, *AXIS_NAMES)))
    for length in range(1, len(AXIS_NAMES) + 1):
        for sizes in factorizations(count, length):
            if sizes[-1] > 1 and all(starmap(ge, pairwise(sizes))):
                yield Mesh(tuple(MeshAxis(name, size) for name, size in zip(names, sizes, strict=False)))


def splits_axes(sizes: Sequence[int], joined: Sequence[int]) -> bool:
    """Return whether axes of some sizes can be joined to axes of the sizes `joined`, in any order.

    >>> splits_axes((32, 8, 2), (64, 8)), splits_axes((16, 16, 2), (64, 8))
    (True, False)
    """
    if not sizes:
        return all(size == 1 for size in joined)
    return any(
        size % sizes[0] == 0 and splits_axes(sizes[1:], (*joined[:index], size // sizes[0], *joined[index + 1 :]))
        for index, size in enumerate(joined)
    )


def factorizations(count: int, length: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `length` sizes, each at least 1, whose product is `count`; the larger first sizes first."""
    if length == 1:
        yield (count,)
        return
    for first in range(count, 0, -1):
        if count % first == 0:
            yield from ((first, *rest) for rest in factorizations(count // first, length - 1))


def wrong_request(message: str) -> SdyError:
    """Return the error about a request that cannot be searched."""
    return SdyError(Diagnostic("SDY-T252", message, hint="see sdy search --help"))
