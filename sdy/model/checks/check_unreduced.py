"""The check that an op may change unreduced axes in the way that its shardings do.

Source: docs/spec/01, 3.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, overlaps
from sdy.model.axis_list import lists_overlap, set_difference
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import ReductionKind, TensorSharding


def check_unreduced_transition(
    operands: Sequence[TensorSharding],
    results: Sequence[TensorSharding],
    meshes: MeshTable,
    *,
    introduced_by: ReductionKind | None,
    removed_by: ReductionKind | None,
) -> Diagnostic | None:
    """Return the first violated rule about the change of unreduced axes from operands to results; None if there is
    none.

    The op may make axes unreduced by the kind `introduced_by` and combine them by the kind `removed_by`; None means
    that it may not. Axes that stay unreduced must keep their kind. Shardings on different meshes are not compared.
    """
    distinct_meshes = {resolve_mesh(sharding.mesh, meshes) for sharding in (*operands, *results)}
    mesh = distinct_meshes.pop() if len(distinct_meshes) == 1 else None
    if mesh is None:
        return None
    before, after = _unreduced(operands), _unreduced(results)
    introduced, removed = set_difference(after, before, mesh), set_difference(before, after, mesh)
    return (
        _check_kinds(introduced, results, introduced_by, "become unreduced")
        or _check_kinds(removed, operands, removed_by, "stop being unreduced")
        or _check_kept(operands, results)
    )


def _unreduced(shardings: Sequence[TensorSharding]) -> AxisList:
    return tuple(ref for sharding in shardings for ref in sharding.unreduced)


def _check_kinds(
    axes: AxisList, shardings: Sequence[TensorSharding], kind: ReductionKind | None, change: str
) -> Diagnostic | None:
    if not axes:
        return None
    listed = ", ".join(map(str, axes))
    if kind is None:
        return Diagnostic("SDY-D244", f"axes {listed} {change}, which this op must not do")
    for sharding in shardings:
        if sharding.unreduced_kind is not kind and lists_overlap(sharding.unreduced, axes):
            found = sharding.unreduced_kind.value
            return Diagnostic("SDY-D245", f"axes {listed} {change} by `{kind.value}`, but the sharding has `{found}`")
    return None


def _check_kept(operands: Sequence[TensorSharding], results: Sequence[TensorSharding]) -> Diagnostic | None:
    for result in results:
        for operand in operands:
            if operand.unreduced_kind is result.unreduced_kind:
                continue
            for ref in result.unreduced:
                if any(overlaps(ref, other) for other in operand.unreduced):
                    kinds = f"from `{operand.unreduced_kind.value}` to `{result.unreduced_kind.value}`"
                    return Diagnostic("SDY-D246", f"axis {ref} stays unreduced, but its reduction kind changes {kinds}")
    return None
