"""Checks that the result sharding of a collective is the one that its parameters make of the operand sharding.

Every function takes the shardings of the operand (`operand`) and of the result (`out`), which are valid and of the same
rank, and the mesh of `out`. Source: docs/spec/01, 4.7 and 5.12 to 5.20.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.model.axis import AxisList, AxisRef, overlaps, prefix_without
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.axis_on_mesh import is_suffix
from sdy.model.checks.check_mesh import AxisUse
from sdy.model.checks.first_problem import Problems, first_problem
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind, TensorSharding

_DimStep = Callable[[AxisList, AxisList, Mesh], AxisList | AxisRef]  # the new axes, or the ref that does not fit


def gathered(axes: AxisList, gathering: AxisList, mesh: Mesh) -> AxisList | AxisRef:
    """Return `axes` without `gathering`, which must be at its minor end; return the ref that is not, if any."""
    left = list(axes)
    for ref in reversed(gathering):
        if not left or not is_suffix(ref, left[-1], mesh):
            return ref
        rest = prefix_without(left.pop(), ref)
        if rest is not None:
            left.append(rest)
    return tuple(left)


@first_problem
def check_all_gather(operand: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Problems:
    """Check AG1: the result lacks the gathered axes, which are at the minor end of each dim of the operand."""
    return _check_axes_per_dim(operand, out, axes, mesh, gathered)


@first_problem
def check_appended_axes(operand: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Problems:
    """Check AS1 or RD2: the result has the slicing or scattering axes appended to each dim of the operand."""
    return _check_axes_per_dim(operand, out, axes, mesh, extended)


def _check_axes_per_dim(
    operand: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh, step: _DimStep
) -> Problems:
    """Check K1 to K3: the axes are valid, there is one list per dim, and `step` makes the result of the operand."""
    use = AxisUse(mesh)
    for refs in axes:
        yield from use.add(refs)
    if len(axes) != out.rank:
        yield Diagnostic("SDY-D211", f"expected {out.rank} lists of axes, one per dim, got {len(axes)}")
    for index, refs in enumerate(axes):
        yield from _check_dim(operand, out, index, refs, mesh, step)


def _check_dim(
    operand: TensorSharding, out: TensorSharding, dim: int, axes: AxisList, mesh: Mesh, step: _DimStep
) -> Problems:
    expected = step(operand.dims[dim].axes, axes, mesh)
    if isinstance(expected, AxisRef):
        axes_of_dim = _listed(operand.dims[dim].axes)
        message = f"axis {expected} is not at the minor end of dim {dim}, which is sharded along {axes_of_dim}"
        yield Diagnostic("SDY-D212", message)
    else:
        yield from _check_axes_of_dim(out, dim, expected)


def _check_axes_of_dim(out: TensorSharding, dim: int, expected: AxisList) -> Problems:
    found = out.dims[dim].axes
    if found != expected:
        message = f"expected dim {dim} of the result to be sharded along {_listed(expected)}, got {_listed(found)}"
        yield Diagnostic("SDY-D213", message)


@first_problem
def check_all_to_all(
    operand: TensorSharding, out: TensorSharding, params: Sequence[AllToAllParam], mesh: Mesh
) -> Problems:
    """Check AA1 to AA9: the parameters are valid and make the result of the operand; other dims keep their axes."""
    if not params:
        yield Diagnostic("SDY-D221", "expected at least one all-to-all parameter")
    yield from _check_params(params, out.rank, mesh)
    for param in params:
        yield from _check_dim(operand, out, param.source, param.axes, mesh, gathered)
        yield from _check_dim(operand, out, param.target, param.axes, mesh, extended)
    touched = {dim for param in params for dim in (param.source, param.target)}
    for dim in range(out.rank):
        if dim not in touched:
            yield from _check_axes_of_dim(out, dim, operand.dims[dim].axes)


def _check_params(params: Sequence[AllToAllParam], rank: int, mesh: Mesh) -> Problems:
    """Check AA2 to AA6: axes and dims are valid and used once, and source dims are ascending."""
    use = AxisUse(mesh)
    dims: set[int] = set()
    previous = -1
    for param in params:
        yield from use.add(param.axes)
        roles = (("source", param.source), ("target", param.target))
        for role, dim in roles:
            if not 0 <= dim < rank:
                yield Diagnostic("SDY-D222", f"{role} dim {dim} is out of range for a tensor of rank {rank}")
        for role, dim in roles:
            if dim in dims:
                yield Diagnostic("SDY-D223", f"{role} dim {dim} is used twice")
            dims.add(dim)
        if param.source <= previous:
            message = f"expected source dims in ascending order, got {param.source} after {previous}"
            yield Diagnostic("SDY-D224", message)
        previous = param.source


@first_problem
def check_collective_permute(operand: TensorSharding, out: TensorSharding, operand_mesh: Mesh, mesh: Mesh) -> Problems:
    """Check CP1 to CP3: the meshes have the same axes, and each dim keeps its number of shards."""
    if operand_mesh.axes != mesh.axes:
        yield Diagnostic("SDY-D231", "the meshes of operand and result have different axes")
    if operand.mesh != out.mesh and operand_mesh.device_ids == mesh.device_ids:
        yield Diagnostic("SDY-D232", "the meshes of operand and result differ, but list the devices in the same order")
    for dim, (before, after) in enumerate(zip(operand.dims, out.dims, strict=True)):
        sizes = sharded_size(before.axes, mesh), sharded_size(after.axes, mesh)
        if sizes[0] != sizes[1]:
            message = f"dim {dim} must keep its number of shards: {sizes[0]} in the operand, {sizes[1]} in the result"
            yield Diagnostic("SDY-D233", message)


@first_problem
def check_all_reduce(operand: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh) -> Problems:
    """Check AR1 to AR4: the shardings are equal, and the reduced axes are used by neither of them."""
    if not is_equivalent(operand, out, ignore_unreduced=True):
        yield Diagnostic("SDY-D241", "operand and result must have the same sharding")
    yield from AxisUse(mesh).add_sorted(axes)
    kept = [*chain.from_iterable(dim.axes for dim in operand.dims), *operand.replicated]
    for ref, other in _overlapping(axes, kept):
        yield Diagnostic("SDY-D242", f"axis {ref} is reduced, but the operand is sharded along {other}")
    for ref, other in _overlapping(axes, out.unreduced):
        yield Diagnostic("SDY-D243", f"axis {ref} is reduced, but the result is unreduced along {other}")


@first_problem
def check_sharded_to_unreduced(operand: TensorSharding, out: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> Problems:
    """Check SU1 to SU3: the axes move from the minor ends of the dims to the unreduced axes."""
    yield from _check_sum(out)
    yield from _check_axes_per_dim(operand, out, axes, mesh, gathered)
    yield from _check_unreduced(operand, out, tuple(chain.from_iterable(axes)), mesh)


@first_problem
def check_replicated_to_unreduced(operand: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh) -> Problems:
    """Check RU1 to RU7: the dims stay, and the axes, which were replicated, become unreduced."""
    yield from _check_sum(out)
    if operand.dims != out.dims:
        yield Diagnostic("SDY-D253", "operand and result must have the same dim shardings")
    if not axes:
        yield Diagnostic("SDY-D254", "expected at least one axis to make unreduced")
    yield from AxisUse(mesh).add_sorted(axes)
    used = [*chain.from_iterable(dim.axes for dim in operand.dims), *operand.unreduced]
    for ref, other in _overlapping(axes, used):
        message = f"axis {ref} must be replicated, but the operand is sharded or unreduced along {other}"
        yield Diagnostic("SDY-D255", message)
    yield from _check_unreduced(operand, out, axes, mesh)


def _overlapping(axes: Iterable[AxisRef], others: Sequence[AxisRef]) -> Iterator[tuple[AxisRef, AxisRef]]:
    """Yield the pairs of one of `axes` and one of `others` that overlap."""
    return ((ref, other) for ref in axes for other in others if overlaps(ref, other))


def _check_sum(out: TensorSharding) -> Problems:
    """Check SU1 and RU1: the result is unreduced by `sum`."""
    if out.unreduced_kind is not ReductionKind.SUM:
        kind = out.unreduced_kind.value
        yield Diagnostic("SDY-D251", f"expected the result to be unreduced by `sum`, got `{kind}`")


def _check_unreduced(operand: TensorSharding, out: TensorSharding, axes: AxisList, mesh: Mesh) -> Problems:
    """Check SU3 and RU7: the unreduced axes of the result are those of the operand and `axes`."""
    expected = sort_and_merge((*operand.unreduced, *axes), mesh)
    if out.unreduced != expected:
        message = f"expected the result to be unreduced along {_listed(expected)}, got {_listed(out.unreduced)}"
        yield Diagnostic("SDY-D252", message)


def _listed(axes: AxisList) -> str:
    return f"{{{', '.join(map(str, axes))}}}"
