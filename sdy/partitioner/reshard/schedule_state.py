"""Where a reshard stands between two collectives: what is left of the source, what the target still lacks.

Source: docs/spec/05, 2.2 and 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.model.axis import AxisList, AxisRef, order_key
from sdy.model.axis_list import add_or_merge, sharded_size
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.axis_alignment import aligned


class ScheduleState:
    """Per dim, three lists of axis refs, kept in pieces that are equal or disjoint.

    `extra` are cuts of the tensor as it is that the target has not, or not there; `wanted` are cuts of the target not
    in place yet; `current` is all cuts of the tensor as it is, merged. `held` is every ref in `extra`; `destination`
    says where in `wanted` a ref stood when the map was last made. Some phases need it as it was: see `locate`.
    """

    def __init__(self, source: TensorSharding, target: TensorSharding, mesh: Mesh) -> None:
        self.mesh = mesh
        self.current: list[AxisList] = [dim.axes for dim in source.dims]
        in_source = sorted((ref for dim in source.dims for ref in dim.axes), key=order_key)
        in_target = sorted((ref for dim in target.dims for ref in dim.axes), key=order_key)
        self.extra = [aligned(dim.axes, in_target, mesh) for dim in source.dims]
        self.wanted = [aligned(dim.axes, in_source, mesh) for dim in target.dims]
        for extra, wanted in zip(self.extra, self.wanted, strict=True):
            while extra and wanted and extra[0] == wanted[0]:
                del extra[0], wanted[0]
        self.held = {ref for extra in self.extra for ref in extra}
        self.destination: dict[AxisRef, tuple[int, int]] = {}
        self.locate()

    @property
    def rank(self) -> int:
        """Dims of the tensor."""
        return len(self.current)

    @property
    def is_in_place(self) -> bool:
        """Nothing left over, nothing lacking."""
        return not any(self.extra) and not any(self.wanted)

    def locate(self) -> None:
        """Make `destination` anew: the dim and the place of each wanted ref."""
        self.destination = {
            ref: (dim, place) for dim, wanted in enumerate(self.wanted) for place, ref in enumerate(wanted)
        }

    def size(self, axes: Sequence[AxisRef]) -> int:
        """Into how many pieces `axes` cut."""
        return sharded_size(axes, self.mesh)

    def cut_further(self, dim: int, ref: AxisRef) -> None:
        """Add a cut at the minor end of `dim`."""
        self.current[dim] = add_or_merge(self.current[dim], ref, self.mesh)

    def fit(self, ref: AxisRef, capacity: int) -> tuple[AxisRef, AxisRef | None, int] | None:
        """The part of `ref` that fits `capacity`, the rest, and the capacity left; None where no part does."""
        size = self.mesh.size_of(ref)
        if capacity <= 1 or (size % capacity and capacity % size):
            return None
        if capacity >= size:
            return ref, None, capacity // size
        part, rest = split_at(ref, capacity, self.mesh)
        return part, rest, 1

    def spread(
        self, available: list[list[AxisRef]], capacity: list[int], *, in_front: bool
    ) -> list[tuple[int, AxisRef]]:
        """Put available refs on dims that have capacity, as extra cuts: (dim, ref) in order of placement.

        `available` has one list a dim, which may be the same list; what is placed is taken off it. The refs go behind
        the extra cuts of the dim, or in front of them in their order.
        """
        placed: list[tuple[int, AxisRef]] = []
        split: list[AxisRef] = []
        for dim, offered in enumerate(available):
            front, place = 0, 0
            while place < len(offered) and capacity[dim] > 1:
                fitting = self.fit(offered[place], capacity[dim])
                if fitting is None:
                    place += 1
                    continue
                part, rest, capacity[dim] = fitting
                del offered[place]
                self.extra[dim].insert(front if in_front else len(self.extra[dim]), part)
                front += 1
                self.held.add(part)
                placed.append((dim, part))
                if rest is not None:
                    offered.insert(0, rest)
                    split.append(part)
        if split:
            split.sort(key=order_key)
            self.wanted = [aligned(wanted, split, self.mesh) for wanted in self.wanted]
        return placed

    def divides_evenly(self, size: int | None, pieces: int) -> bool:
        """Whether a dim of `size` splits into `pieces`. A dynamic dim does into powers of two."""
        return pieces & (pieces - 1) == 0 if size is None else size % pieces == 0


def either_divides(first: int, second: int) -> bool:
    """Whether one of the two divides the other."""
    return first % second == 0 or second % first == 0
