"""Checks of merged fragments and scheduling units. Source: docs/spec/07, 6.13 and 6.20."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from sdy.dialects.ir.walk import ops_of
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragment_facts import REMAT, schedulable_meshes, scheduling_units, single_count, split_type
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.schedules.fragment_info import SplitType


class _Signature(NamedTuple):
    """The key that no two fragments of a stage may share. An absent call counter is equal to any."""

    mesh: str
    stage: int
    transpose_count: int | None
    split: SplitType | None
    is_remat: bool


class VerifyStageMergingPass(FunctionPass):
    """Check that each stage has one fragment per mesh, direction, microbatch and part."""

    name = "mpmd-verify-stage-merging"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each fragment that equals an earlier one."""
        seen: dict[_Signature, list[int | None]] = {}
        for fragment in ops_of(func, FragmentOp):
            if fragment.stage is None:
                continue
            is_remat = REMAT in fragment.attributes
            count = single_count(fragment)
            if count is None and is_remat:
                count = max((origin.transpose_count for origin in fragment.origins), default=None)
            signature = _Signature(fragment.mesh, fragment.stage, count, split_type(fragment), is_remat)
            counters = seen.setdefault(signature, [])
            counter = fragment.call_counter
            if any(None in (counter, earlier) or counter == earlier for earlier in counters):
                origins = ", ".join(map(str, fragment.origins))
                microbatch = "" if counter is None else f", call counter {counter}"
                message = (
                    f"stage {fragment.stage} of mesh {fragment.mesh} already has a fragment with the same transpose "
                    f"count {count}{microbatch}; this one has the origins {origins}"
                )
                findings.error(fragment, "SDY-M103", message, "connect the computations of a stage, so that they merge")
            else:
                counters.append(counter)


class SchedulingUnitsVerifierPass(FunctionPass):
    """Warn where the number of forward or backward units of a mesh is not the number of microbatches."""

    name = "mpmd-scheduling-units-verifier"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Count the units of each mesh."""
        counters = [each.call_counter for each in ops_of(func, FragmentOp)]
        count = max((each for each in counters if each is not None), default=0) + (0 in counters)
        if not count:
            return
        units = scheduling_units(func).values()
        for mesh in schedulable_meshes(func):
            for direction, is_backward in (("forward", False), ("backward", True)):
                actual = sum(unit.mesh == mesh and unit.is_backward is is_backward for unit in units)
                if actual != count:
                    message = f"mesh {mesh} must have {count} {direction} scheduling units, one per microbatch"
                    findings.warn(func, "SDY-M104", f"{message}, got {actual}")
