"""Candidate axes of a factor, on which the tensors agree, and the part of them that fits. Shared by all strategies.

Source: docs/spec/02, 3.1 to 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from sdy.model.axis import AxisList, AxisRef, contains, is_prefix
from sdy.model.axis_list import prefix_without_any
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex
from sdy.propagation.graph import Direction
from sdy.propagation.projection import Projection, TensorProjection

# Returns the longest prefix of an axis that can follow axes of the given total size; None if there is none.
Trimmer = Callable[[AxisRef, int], AxisRef | None]


def candidate(projection: Projection, factor: FactorIndex, direction: Direction) -> AxisList:
    """Return the axes that the tensors agree on along `factor`.

    Every tensor's list is a prefix of the candidate, or diverges from it where the candidate ends. The direction
    decides which tensors may extend it: operands (forward), results (backward) or all. The others can only shorten it.
    """
    if direction is Direction.NONE:
        return ()
    first, second = projection.operands, projection.results
    if direction is Direction.BACKWARD:
        first, second = second, first
    axes, may_extend = _join_all((), _lists(first, factor), may_extend=True)
    return _join_all(axes, _lists(second, factor), may_extend and direction is Direction.BOTH)[0]


def _lists(tensors: Sequence[TensorProjection], factor: FactorIndex) -> list[AxisList]:
    return [tensor.factors[factor].axes for tensor in tensors if factor in tensor.factors]


def _join_all(axes: AxisList, others: Sequence[AxisList], may_extend: bool) -> tuple[AxisList, bool]:
    for other in others:
        axes, may_extend = _join(axes, other, may_extend)
    return axes, may_extend


def _join(axes: AxisList, other: AxisList, may_extend: bool) -> tuple[AxisList, bool]:
    """Join two lists: the longer one if the other is its prefix, otherwise their common prefix.

    Also return whether the result may be extended further, which is False for good after a divergence.
    """
    for index, (ours, theirs) in enumerate(zip(axes, other, strict=False)):
        if ours == theirs:
            continue
        ours_ends, theirs_ends = index == len(axes) - 1, index == len(other) - 1
        if is_prefix(theirs, ours) and theirs_ends:
            return axes, may_extend
        if is_prefix(theirs, ours):
            return (*axes[:index], theirs), False
        if is_prefix(ours, theirs) and ours_ends and may_extend:
            return other, True
        if is_prefix(ours, theirs):
            return (*axes[:index], ours), False
        return axes[:index], False
    return (other if may_extend and len(other) > len(axes) else axes), may_extend


def trimmed(axes: AxisList, trim: Trimmer, mesh: Mesh, conservative: bool) -> AxisList:
    """Return `axes` up to the first one that `trim` shortens or rejects. If conservative, without sub-axes."""
    kept: list[AxisRef] = []
    size_so_far = 1
    for axis in axes:
        rest = trim(axis, size_so_far)
        if rest is None or (conservative and rest.sub_axis is not None):
            break
        kept.append(rest)
        if rest != axis:
            break
        size_so_far *= mesh.size_of(axis)
    return tuple(kept)


def fit_beside_other_factors(axis: AxisRef, tensor: TensorProjection, factor: FactorIndex) -> AxisRef | None:
    """Return the longest prefix of `axis` that no other factor of the tensor uses."""
    rest: AxisRef | None = axis
    for other, entry in tensor.factors.items():
        if other == factor:
            continue
        rest = prefix_without_any(rest, (*entry.overflow, *entry.axes))
        if rest is None:
            return None
    return rest


def fit_in_factor(
    axis: AxisRef, size_before: int, tensor: TensorProjection, factor: FactorIndex, factor_size: int, mesh: Mesh
) -> AxisRef | None:
    """Return the longest prefix of `axis` that the tensor can have along `factor` after axes of size `size_before`."""
    rest = prefix_without_any(axis, (*tensor.replicated, *tensor.unreduced))
    if rest is None:
        return None
    entry = tensor.factors[factor]
    if any(contains(own, rest) for own in entry.axes):
        return rest
    if not entry.is_closed and not entry.overflow:
        if entry.is_minor_most:
            return rest
        if factor_size % size_before == 0:
            size = mesh.size_of(rest)
            common = gcd(factor_size // size_before, size)
            if common == size:
                return rest
            if common > 1:
                return split_at(rest, common, mesh)[0]
    # A closed tensor with a shorter sub-axis of the same axis lets the candidate shrink to that sub-axis.
    return entry.axes[-1] if entry.axes and is_prefix(entry.axes[-1], rest) else None
