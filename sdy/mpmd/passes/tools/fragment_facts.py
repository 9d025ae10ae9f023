"""The facts of fragments that rules and schedules ask for: counts, infos and positions.

Source: docs/spec/07, 4.7, 4.8 and 4.13.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp

from sdy.mpmd.dialect.attrs import UserOriginAttr, is_cpu_mesh
from sdy.mpmd.dialect.functions import topology_of
from sdy.mpmd.dialect.ops import CALL_COUNTER, ui32
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.schedules.builtin import Unit
from sdy.mpmd.schedules.fragment_info import FragmentInfo, SplitType

SPLIT_MARKS = {SplitType.KEEP: "split_keep_transferred", SplitType.DROP: "split_drop_transferred"}
REMAT = "remat"


def single_count(fragment: FragmentOp) -> int | None:
    """Return the transpose count that all origins share; None if they differ, or if there are none."""
    counts = {origin.transpose_count for origin in fragment.origins}
    return counts.pop() if len(counts) == 1 else None


def is_forward(fragment: FragmentOp) -> bool:
    """Return whether all origins are forward computations."""
    return single_count(fragment) == 0


def is_backward(fragment: FragmentOp) -> bool:
    """Return whether all origins were transposed once."""
    return single_count(fragment) == 1


def split_type(fragment: FragmentOp) -> SplitType | None:
    """Return which part of a split fragment this is, or None."""
    return next((split for split, mark in SPLIT_MARKS.items() if mark in fragment.attributes), None)


def next_on_mesh(fragment: FragmentOp) -> FragmentOp | None:
    """Return the next fragment of the block on the same mesh."""
    following = fragment.next_op
    while following is not None:
        if isinstance(following, FragmentOp) and following.mesh == fragment.mesh:
            return following
        following = following.next_op
    return None


def schedulable_meshes(func: FuncOp) -> list[str]:
    """Return the meshes of a function on which fragments are scheduled: all but CPUs."""
    topology = topology_of(func)
    return [] if topology is None else [named.name for named in topology.data if not is_cpu_mesh(named.name)]


def scheduling_units(func: FuncOp) -> dict[FragmentOp, Unit]:
    """Return the fragments directly in a function that a schedule orders, in order, and what it asks of them."""
    meshes = schedulable_meshes(func)
    return {
        fragment: Unit(
            fragment.mesh,
            meshes.index(fragment.mesh) if fragment.mesh in meshes else len(meshes),
            counter,
            is_backward(fragment),
            split_type(fragment) is SplitType.DROP,
            fragment.stage,
        )
        for fragment in fragments_of(func)
        if (counter := fragment.call_counter) is not None and (is_forward(fragment) or is_backward(fragment))
    }


def info_of(fragment: FragmentOp) -> FragmentInfo:
    """Return what rules know of a fragment."""
    origins = tuple(sorted(fragment.origins))
    return FragmentInfo(origins, fragment.stage, fragment.call_counter, split_type(fragment), fragment.mesh)


def set_info(fragment: FragmentOp, info: FragmentInfo) -> None:
    """Give a fragment the origins, stage, call counter, split mark and mesh of an info."""
    fragment.origin = ArrayAttr(map(UserOriginAttr, info.origins))
    fragment.mesh_name = StringAttr(info.mesh)
    fragment.stage_id = None if info.stage is None else IntegerAttr(info.stage, i64)
    for name in (CALL_COUNTER, *SPLIT_MARKS.values()):
        fragment.attributes.pop(name, None)
    if info.call_counter is not None:
        fragment.attributes[CALL_COUNTER] = IntegerAttr(info.call_counter, ui32)
    if info.split_type is not None:
        fragment.attributes[SPLIT_MARKS[info.split_type]] = UnitAttr()
