"""The options of a search for a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdy.cost.hardware import Hardware
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.mesh import Mesh, MeshAxis
from sdy.search.search_request import SECONDS, meshes_of_devices, search_request, wrong_request

MICROBATCHES = "4..64"
Counts = int | str | Sequence[int]


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """The options of a search for a pipeline.

    `stages` are the numbers of meshes, and `microbatches` those of microbatches to try. `mesh` is that of each stage;
    without it, the meshes of one to three axes for `devices` divided by the number of meshes are tried.
    """

    hardware: Hardware
    free_bytes: float
    stages: tuple[int, ...]
    microbatches: tuple[int, ...]
    mesh: Mesh | None
    devices: int | None
    seconds: float

    def meshes(self, stages: int) -> list[Mesh]:
        """Return the meshes of a stage that are tried: none if the devices cannot be divided."""
        if self.mesh is not None:
            return [self.mesh]
        assert self.devices is not None  # one of both is given
        if self.devices % stages:
            return []
        if self.devices == stages:
            return [Mesh((MeshAxis("x", 1),))]
        return list(meshes_of_devices(self.devices // stages))


def pipeline_request(
    hardware: Hardware,
    stages: Counts | None,
    microbatches: Counts | None = None,
    mesh: str | None = None,
    devices: int | None = None,
    memory: float | str | None = None,
    seconds: float | None = None,
    *,
    has_others: bool = False,
) -> PipelineRequest:
    """Return the request for options as users write them: `stages="2,4"`, `microbatches="4..64"`.

    Raises: SdyError SDY-T252 if an option is malformed, or there are others that a search for a pipeline does not have;
    SDY-T253 if neither a mesh nor a number of devices is given.
    """
    if stages is None:
        raise wrong_request("microbatches: a search for a pipeline also needs stages")
    if has_others:
        raise wrong_request("minimize, fix, from_scratch, overlap and constraints cannot be given with stages")
    found = search_request(hardware, mesh, None if mesh is None else devices, memory)
    if mesh is None and devices is None:
        hint = 'give the mesh of each stage, mesh="data=4,model=2", or the number of all devices, devices=64'
        raise SdyError(Diagnostic("SDY-T253", "a search for a pipeline needs a mesh or a number of devices", hint=hint))
    if devices is not None and devices < 1:
        raise wrong_request(f"devices: expected at least 1, got {devices}")
    meshes = next(iter(found.meshes), None)
    counts = _counts("stages", stages, 1), _counts("microbatches", microbatches or MICROBATCHES, 2)
    return PipelineRequest(
        hardware, found.free_bytes, *counts, meshes, devices, SECONDS if seconds is None else seconds
    )


def _counts(name: str, given: Counts, least: int) -> tuple[int, ...]:
    """Return numbers in ascending order: of `2,4,8`, or of `4..64`, each twice the one before."""
    try:
        found = {int(given)} if isinstance(given, int) else _numbers(given) if isinstance(given, str) else set(given)
    except ValueError:
        raise wrong_request(f"{name}: expected numbers such as 2,4,8 or 4..64, got {given!r}") from None
    if not found or min(found) < least:
        raise wrong_request(f"{name}: expected numbers from {least} on, got {given!r}")
    return tuple(sorted(found))


def _numbers(text: str) -> set[int]:
    found = set[int]()
    for part in text.split(","):
        first, dots, last = part.partition("..")
        number, end = int(first), int(last if dots else first)
        while 0 < number <= end:
            found.add(number)
            number *= 2
    return found
