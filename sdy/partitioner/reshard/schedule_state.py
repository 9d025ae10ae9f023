"""The state of the fixed schedule between two collectives: axes to remove from the tensor, and axes to add.

Source: docs/spec/05, 2.2 and 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.model.axis import AxisList, AxisRef, order_key
from sdy.model.axis_list import add_or_merge, sharded_size
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.axis_alignment import split_at_boundaries


class ScheduleState:
    """Three lists of axis refs per dim, split so that any two refs are equal or disjoint.

    `extra` are the axes of the current sharding that the target does not have, or not in this position; `missing` are
    the axes of the target that are not in position yet; `current` are all axes of the current sharding, merged.
    `extra_refs` is the set of all refs in `extra`; `destinations` maps a ref to its dim and index in `missing` at the
    last call of `update_destinations`. Some phases rely on the outdated positions.
    """

    def __init__(self, source: TensorSharding, target: TensorSharding, mesh: Mesh) -> None:
        self.mesh = mesh
        self.current: list[AxisList] = [dim.axes for dim in source.dims]
        in_source = sorted((ref for dim in source.dims for ref in dim.axes), key=order_key)
        in_target = sorted((ref for dim in target.dims for ref in dim.axes), key=order_key)
        self.extra = [split_at_boundaries(dim.axes, in_target, mesh) for dim in source.dims]
        self.missing = [split_at_boundaries(dim.axes, in_source, mesh) for dim in target.dims]
        for extra, missing in zip(self.extra, self.missing, strict=True):
            while extra and missing and extra[0] == missing[0]:
                del extra[0], missing[0]
        self.extra_refs = {ref for extra in self.extra for ref in extra}
        self.destinations: dict[AxisRef, tuple[int, int]] = {}
        self.update_destinations()

    @property
    def rank(self) -> int:
        """Number of dims of the tensor."""
        return len(self.current)

    @property
    def is_at_target(self) -> bool:
        """Return whether no axis is left to remove or to add."""
        return not any(self.extra) and not any(self.missing)

    def update_destinations(self) -> None:
        """Set `destinations` to the dim and the index of each missing ref."""
        self.destinations = {
            ref: (dim, index) for dim, missing in enumerate(self.missing) for index, ref in enumerate(missing)
        }

    def shard_count(self, axes: Sequence[AxisRef]) -> int:
        """Return the number of shards that `axes` split a dim into."""
        return sharded_size(axes, self.mesh)

    def append_axis(self, dim: int, ref: AxisRef) -> None:
        """Shard `dim` further along `ref`, at the minor end of its axes."""
        self.current[dim] = add_or_merge(self.current[dim], ref, self.mesh)

    def fit(self, ref: AxisRef, capacity: int) -> tuple[AxisRef, AxisRef | None, int] | None:
        """Return the major sub-axis of `ref` that fits `capacity`, the rest, and the remaining capacity.

        Return None if no sub-axis fits.
        """
        size = self.mesh.size_of(ref)
        if capacity <= 1 or (size % capacity and capacity % size):
            return None
        if capacity >= size:
            return ref, None, capacity // size
        major, rest = split_at(ref, capacity, self.mesh)
        return major, rest, 1

    def distribute(
        self, available: list[list[AxisRef]], capacity: list[int], *, prepend: bool
    ) -> list[tuple[int, AxisRef]]:
        """Assign available refs to dims that have capacity, as extra axes: (dim, ref) in order of assignment.

        `available` has one list per dim, which may be the same list; assigned refs are removed from it. The refs are
        appended to the extra axes of the dim, or prepended to them in their order.
        """
        assigned: list[tuple[int, AxisRef]] = []
        split: list[AxisRef] = []
        for dim, offered in enumerate(available):
            front, index = 0, 0
            while index < len(offered) and capacity[dim] > 1:
                fitting = self.fit(offered[index], capacity[dim])
                if fitting is None:
                    index += 1
                    continue
                ref, rest, capacity[dim] = fitting
                del offered[index]
                self.extra[dim].insert(front if prepend else len(self.extra[dim]), ref)
                front += 1
                self.extra_refs.add(ref)
                assigned.append((dim, ref))
                if rest is not None:
                    offered.insert(0, rest)
                    split.append(ref)
        if split:
            split.sort(key=order_key)
            self.missing = [split_at_boundaries(missing, split, self.mesh) for missing in self.missing]
        return assigned

    def divides_evenly(self, size: int | None, count: int) -> bool:
        """Return whether a dim of `size` splits into `count` equal shards; a dynamic dim does for powers of two."""
        return count & (count - 1) == 0 if size is None else size % count == 0


def either_divides(first: int, second: int) -> bool:
    """Return whether one of the two numbers divides the other."""
    return first % second == 0 or second % first == 0
