"""Whether the sharding that a collective gives is the one that its parameters make of the given one.

Source: docs/spec/01, 4.7 and 5.12 to 5.20. Every function takes the sharding of the tensor before
(`given`) and after (`out`), which are checked already and of one rank, and the mesh of `out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, AxisRef, overlaps, prefix_without
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.axis_on_mesh import is_suffix
from sdy.model.checks.check_axes import AxisUse
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind, TensorSharding

_DimStep = Callable[[AxisList, AxisList, Mesh], AxisList | AxisRef]  # the new axes; or the one that does not fit


def gathered(axes: AxisList, gathering: AxisList, mesh: Mesh) -> AxisList | AxisRef:
    """`axes` without `gathering`, which must be its minor end: else the ref that is not."""
    left = list(axes)
    for ref in reversed(gathering):
        if not left or not is_suffix(ref, left[-1], mesh):
            return ref
        rest = prefix_without(left.pop(), ref)
        if rest is not None:
            left.append(rest)
    return tuple(left)


def check_all_gather(given: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Diagnostic | None:
    """AG1."""
    return _check_axes_per_dim(given, out, axes, mesh, gathered)


def check_all_slice(given: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Diagnostic | None:
    """AS1."""
    return _check_axes_per_dim(given, out, axes, mesh, extended)


def check_reduce_scatter(given: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Diagnostic | None:
    """RD2."""
    return _check_axes_per_dim(given, out, axes, mesh, extended)


def _check_axes_per_dim(
    given: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh, step: _DimStep
) -> Diagnostic | None:
    """K1 to K3."""
    use = AxisUse(mesh)
    problem = next((problem for refs in axes if (problem := use.add(refs)) is not None), None)
    if problem is not None:
        return problem
    if len(axes) != out.rank:
        return Diagnostic("SDY-D211", f"{len(axes)} lists of axes for a tensor of rank {out.rank}")
    steps = (_check_dim(given, out, index, refs, mesh, step) for index, refs in enumerate(axes))
    return next((problem for problem in steps if problem is not None), None)


def _check_dim(
    given: TensorSharding, out: TensorSharding, dim: int, axes: AxisList, mesh: Mesh, step: _DimStep
) -> Diagnostic | None:
    expected = step(given.dims[dim].axes, axes, mesh)
    if isinstance(expected, AxisRef):
        cut_by = _listed(given.dims[dim].axes)
        return Diagnostic("SDY-D212", f"the axis {expected} is not at the minor end of dim {dim}, cut by {cut_by}")
    return _check_axes_of_dim(out, dim, expected)


def _check_axes_of_dim(out: TensorSharding, dim: int, expected: AxisList) -> Diagnostic | None:
    found = out.dims[dim].axes
    if found == expected:
        return None
    return Diagnostic("SDY-D213", f"dim {dim} of the result is cut by {_listed(found)}, not by {_listed(expected)}")


def check_all_to_all(
    given: TensorSharding, out: TensorSharding, params: Sequence[AllToAllParam], mesh: Mesh
) -> Diagnostic | None:
    """AA1 to AA9."""
    if not params:
        return Diagnostic("SDY-D221", "an all-to-all without parameters")
    problem = _check_params(params, out.rank, mesh)
    if problem is not None:
        return problem
    for param in params:
        problem = _check_dim(given, out, param.source, param.axes, mesh, gathered) or _check_dim(
            given, out, param.target, param.axes, mesh, extended
        )
        if problem is not None:
            return problem
    touched = {dim for param in params for dim in (param.source, param.target)}
    kept = (_check_axes_of_dim(out, dim, given.dims[dim].axes) for dim in range(out.rank) if dim not in touched)
    return next((problem for problem in kept if problem is not None), None)


def _check_params(params: Sequence[AllToAllParam], rank: int, mesh: Mesh) -> Diagnostic | None:
    """AA2 to AA6."""
    use = AxisUse(mesh)
    dims: set[int] = set()
    previous = -1
    for param in params:
        problem = use.add(param.axes)
        if problem is not None:
            return problem
        for word, dim in (("source", param.source), ("target", param.target)):
            if not 0 <= dim < rank:
                return Diagnostic("SDY-D222", f"the {word} dim {dim} is not a dim of a tensor of rank {rank}")
        for word, dim in (("source", param.source), ("target", param.target)):
            if dim in dims:
                return Diagnostic("SDY-D223", f"the {word} dim {dim} is used twice")
            dims.add(dim)
        if param.source <= previous:
            return Diagnostic("SDY-D224", f"the source dim {param.source} comes after {previous}")
        previous = param.source
    return None


def check_collective_permute(
    given: TensorSharding, out: TensorSharding, given_mesh: Mesh, mesh: Mesh
) -> Diagnostic | None:
    """CP1 to CP3."""
    if given_mesh.axes != mesh.axes:
        return Diagnostic("SDY-D231", "the meshes of operand and result have different axes")
    if given.mesh != out.mesh and given_mesh.device_ids == mesh.device_ids:
        return Diagnostic("SDY-D232", "the meshes of operand and result differ, yet list the devices in one order")
    for dim, (before, after) in enumerate(zip(given.dims, out.dims, strict=True)):
        sizes = sharded_size(before.axes, mesh), sharded_size(after.axes, mesh)
        if sizes[0] != sizes[1]:
            return Diagnostic("SDY-D233", f"dim {dim} is cut into {sizes[0]} pieces before and {sizes[1]} after")
    return None


def check_all_reduce(given: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh) -> Diagnostic | None:
    """AR1 to AR4."""
    if not is_equivalent(given, out, ignore_unreduced=True):
        return Diagnostic("SDY-D241", "operand and result are cut differently")
    problem = AxisUse(mesh).add_sorted(axes)
    if problem is not None:
        return problem
    kept = [*chain.from_iterable(dim.axes for dim in given.dims), *given.replicated]
    for ref in axes:
        for other in kept:
            if overlaps(ref, other):
                return Diagnostic("SDY-D242", f"the axis {ref} is reduced, and the operand is sharded on {other}")
        for other in out.unreduced:
            if overlaps(ref, other):
                return Diagnostic("SDY-D243", f"the axis {ref} is reduced, and the result is unreduced on {other}")
    return None


def check_sharded_to_unreduced(
    given: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh
) -> Diagnostic | None:
    """SU1 to SU3."""
    problem = _check_sum(out) or _check_axes_per_dim(given, out, axes, mesh, gathered)
    return problem or _check_unreduced(given, out, tuple(chain.from_iterable(axes)), mesh)


def check_replicated_to_unreduced(
    given: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh
) -> Diagnostic | None:
    """RU1 to RU7."""
    problem = _check_sum(out)
    if problem is not None:
        return problem
    if given.dims != out.dims:
        return Diagnostic("SDY-D253", "the dim shardings of operand and result are not the same")
    if not axes:
        return Diagnostic("SDY-D254", "no axes are made unreduced")
    problem = AxisUse(mesh).add_sorted(axes)
    if problem is not None:
        return problem
    taken = [*chain.from_iterable(dim.axes for dim in given.dims), *given.unreduced]
    for ref in axes:
        for other in taken:
            if overlaps(ref, other):
                message = f"the axis {ref} is not replicated: the operand is sharded or unreduced on {other}"
                return Diagnostic("SDY-D255", message)
    return _check_unreduced(given, out, axes, mesh)


def _check_sum(out: TensorSharding) -> Diagnostic | None:
    """SU1 and RU1."""
    if out.unreduced_kind is ReductionKind.SUM:
        return None
    return Diagnostic("SDY-D251", f"the result is unreduced by `{out.unreduced_kind.value}`, not by `sum`")


def _check_unreduced(given: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh) -> Diagnostic | None:
    """SU3 and RU7."""
    expected = sort_and_merge((*given.unreduced, *axes), mesh)
    if out.unreduced == expected:
        return None
    return Diagnostic("SDY-D252", f"the result is unreduced on {_listed(out.unreduced)}, not on {_listed(expected)}")


def _listed(axes: AxisList) -> str:
    return f"{{{', '.join(map(str, axes))}}}"
