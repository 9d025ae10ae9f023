"""Evidence for programs of several meshes: runs of the whole program, or evidence for each fragment and transfer.

With names, meshes and transfers removed, the whole program is its fragments one after the other. So it computes the
same if each fragment does, on the shards that its arguments have, and each transfer delivers the shards of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.pipeline import CompiledPipeline
from sdy.compile.propagated import ONE_DEVICE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.runs.both_programs import Watch, unwatched
from sdy.evidence.runs.reduced import verify_reduced
from sdy.evidence.runs.run_estimate import (
    RunEstimate,
    check_memory,
    estimate_of_run,
    estimate_on_devices,
    is_within_budget,
)
from sdy.evidence.runs.verification import Verification, verify_sizes_as_they_are
from sdy.evidence.whole_proof import prove
from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.boxes import Box, is_within, volume
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.devices.reshard_plan import ReshardPlan, shards_of
from sdy.model.sharding_update import fully_closed
from sdy.mpmd.dialect.ops import TransferOp

WITHOUT_MESHES = "without meshes"


@dataclass(frozen=True, slots=True)
class FragmentEvidence:
    """The evidence for one fragment: a verification in reduced sizes, or a proof. `runs` is how often it runs."""

    name: str
    mesh: str
    runs: int
    found: Verification | Proof

    @property
    def agrees(self) -> bool:
        """Return whether no difference was found, or the fragment is proved."""
        return self.found.is_proved if isinstance(self.found, Proof) else self.found.agrees


@dataclass(frozen=True, slots=True)
class PipelineEvidence:
    """The evidence for a program of several meshes, fragment by fragment.

    `transfers` is their number; `failures` has a diagnostic for each that does not deliver the shards of its result.
    """

    fragments: tuple[FragmentEvidence, ...]
    transfers: int
    failures: tuple[Diagnostic, ...]

    @property
    def agrees(self) -> bool:
        """Return whether the evidence holds for all fragments and transfers."""
        return not self.failures and all(each.agrees for each in self.fragments)

    def to_json(self) -> dict[str, object]:
        """Return the evidence as plain data."""
        fragments = [
            {"name": each.name, "mesh": each.mesh, "runs": each.runs, "agrees": each.agrees, **each.found.to_json()}
            for each in self.fragments
        ]
        failures = [each.message for each in self.failures]
        return {
            "agrees": self.agrees,
            "fragments": fragments,
            "transfers": self.transfers,
            "transfer_failures": failures,
        }


def verify_pipeline(
    program: CompiledPipeline,
    seed: int = 0,
    given: Sequence[Array] | None = None,
    expected: Sequence[Array] | None = None,
    *,
    original: ModuleOp | None = None,
    reduced: bool | None = None,
    special: bool = False,
    watch: Watch = unwatched,
) -> Verification | PipelineEvidence:
    """Run a program of several meshes on its devices and, without meshes, on one device, and compare the results.

    With `reduced`, or by default if the run takes too long, each fragment is verified on its own in smaller sizes.
    `original` is another program on one device, with which to compare: the one from before the import.
    Raises: SdyError SDY-T270 if sizes are to be reduced but arrays are given, SDY-X150 if a run in the sizes of the
    program takes more memory than is available; or if a program cannot be run.
    """
    if reduced and given is not None:
        message = "a reduced verification draws its own inputs, expected no arrays"
        raise SdyError(Diagnostic("SDY-T270", message, hint="pass reduced=False to verify with these arrays"))
    needed = estimate_of_pipeline(program)
    if reduced or (reduced is None and given is None and not is_within_budget(needed)):
        return _evidence(program, original, lambda fragment: verify_reduced(fragment, seed, watch))
    check_memory(needed, program.written, "sdy verify --reduced runs each fragment in smaller sizes")
    program = program if original is None else replace(program, written=original)
    return verify_sizes_as_they_are(program, seed, given, expected, special=special, watch=watch)


def prove_pipeline(
    program: CompiledPipeline, original: ModuleOp | None = None, watch: Watch = unwatched
) -> PipelineEvidence:
    """Prove that each fragment computes the same on the devices of its mesh, and that each transfer delivers.

    With an `original` program, prove too that the program without meshes computes the same as that.
    """
    return _evidence(program, original, lambda fragment: prove(fragment, watch))


def estimate_of_pipeline(program: CompiledPipeline) -> RunEstimate:
    """Return the estimate of a run on one device, and of one on the devices of all meshes."""
    total = estimate_of_run(program.written)
    for name, times in program.counts().items():
        fragment = program.fragments[name]
        once = estimate_on_devices(fragment.local, fragment.boundary)
        total += replace(once, seconds=once.seconds * times)
    return total


def _evidence(
    program: CompiledPipeline, original: ModuleOp | None, examine: Callable[[Compiled], Verification | Proof]
) -> PipelineEvidence:
    meshes = {call.callee_name: call.mesh for call in program.runs}
    fragments = tuple(
        FragmentEvidence(name, meshes[name], times, examine(program.fragments[name]))
        for name, times in program.counts().items()
    )
    if original is not None:
        whole = FragmentEvidence(WITHOUT_MESHES, "", 1, examine(_on_one_device(original, program)))
        fragments = (whole, *fragments)
    transfers = program.transfers()
    checked: dict[object, str] = {}
    failures: list[Diagnostic] = []
    for transfer in transfers:
        key = transfer.tensor.type, transfer.result.type
        if key not in checked:
            checked[key] = _failure_of(program, transfer)
        if checked[key]:
            failures.append(Diagnostic("SDY-V008", f"the transfer: {checked[key]}", span_of(transfer)))
    return PipelineEvidence(fragments, len(transfers), tuple(failures))


def _on_one_device(original: ModuleOp, program: CompiledPipeline) -> Compiled:
    """Return the program without meshes as the local program of an original one, on one device."""

    def whole(placement: TensorPlacement) -> TensorPlacement:
        return TensorPlacement(placement.shape, fully_closed(ONE_DEVICE, len(placement.shape)), ONE_DEVICE)

    arguments, results = (tuple(map(whole, each)) for each in (program.boundary.arguments, program.boundary.results))
    boundary = ProgramPlacement(ONE_DEVICE, arguments, results)
    return Compiled(original, original, program.written, boundary, program.origin)


def _failure_of(program: CompiledPipeline, transfer: TransferOp) -> str:
    """Return why a transfer does not deliver the shards of its result; "" if it does."""
    return "" if program.layout.keeps_positions(transfer) else failure_of_plan(program.layout.plan(transfer))


def failure_of_plan(plan: ReshardPlan) -> str:
    """Return why a plan does not deliver the shards of its target; "" if it does.

    A device sends what lies in its shard, or what it received before, and the parts that each device of the target
    receives or keeps tile its shard: none overlap, and together they have as many elements.
    """
    held, expected = (
        {device: box for box, devices in shards_of(each, plan.shape).devices.items() for device in devices}
        for each in (plan.source, plan.target)
    )
    received: dict[int, list[Box]] = {device: [] for device in expected}
    arrived: dict[tuple[int, Box], int] = {}
    for send in (*plan.copies, *sorted(plan.sends, key=lambda each: each.round)):
        is_held = send.source in held and is_within(send.box, held[send.source])
        if not is_held and arrived.get((send.source, send.box), send.round) >= send.round:
            return f"device {send.source} sends {list(send.box)}, which it neither holds nor received before"
        if send.target not in expected or not is_within(send.box, expected[send.target]):
            return f"device {send.target} receives {list(send.box)}, which is not in its shard"
        arrived.setdefault((send.target, send.box), send.round)
        received[send.target].append(send.box)
    for device, boxes in received.items():
        total = sum(map(volume, boxes))
        if total != volume(expected[device]) or _overlap(boxes):
            return f"device {device} receives {total} elements for a shard of {volume(expected[device])}, or some twice"
    return ""


def _overlap(boxes: Sequence[Box]) -> bool:
    """Return whether any two boxes have an element in common."""
    if len(boxes) < 2 or not boxes[0]:
        return len(boxes) > 1
    bounds = np.array(boxes)
    ends = bounds[:, None, :, 0] < bounds[None, :, :, 1]
    common = (ends & ends.swapaxes(0, 1)).all(axis=2)
    return int(common.sum()) > len(boxes)  # each box overlaps itself
