"""Draw meshes, and shardings on them, as text."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sdy.model.axis import AxisRef, SubAxis

AXIS_SIZES = (1, 2, 2, 3, 4, 4, 6, 8)
AXIS_NAMES = ("x", "y", "z", "w")

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RandomMesh:
    """A mesh of the program: its name and the axis sizes by axis name."""

    name: str
    axes: dict[str, int]
    device_ids: tuple[int, ...] = ()

    def text(self) -> str:
        """Return the `sdy.mesh` op that declares the mesh."""
        ids = f", device_ids={list(self.device_ids)}" if self.device_ids else ""
        return f"sdy.mesh @{self.name} = <[{self.axis_list()}]{ids}>"

    def axis_list(self) -> str:
        """Return the axes as text: `"x"=2, "y"=4`."""
        return ", ".join(f'"{name}"={size}' for name, size in self.axes.items())


@dataclass(frozen=True, slots=True)
class Habits:
    """Probabilities of the features of shardings."""

    priorities: float = 0.2
    closed: float = 0.3
    explicit: float = 0.15  # of all axes: replicated or unreduced
    unreduced: float = 0.25  # of the explicit axes
    sub_axes: float = 0.3
    inlined: float = 0.1  # of the meshes, where there are several


class Annotations:
    """A source of shardings on the meshes of one program, mostly on the first mesh."""

    def __init__(self, source: random.Random, habits: Habits, *, max_devices: int, one_mesh: bool) -> None:
        self._random = source
        self._habits = habits
        self.meshes = [_random_mesh(source, "m", max_devices)]
        if not one_mesh and source.random() < 0.12:
            self.meshes.append(self._another_mesh(max_devices))

    @property
    def axes(self) -> dict[str, int]:
        """Return the axis sizes of the first mesh by name."""
        return self.meshes[0].axes

    def _another_mesh(self, max_devices: int) -> RandomMesh:
        first = self.meshes[0]
        match self._random.randrange(4):
            case 0:
                return RandomMesh("same", first.axes)
            case 1:
                return RandomMesh("maximal", {}, (self._random.randrange(4),))
            case 2 if (count := _total(first.axes)) > 1:
                return RandomMesh("reversed", first.axes, tuple(range(count))[::-1])
            case _:
                return _random_mesh(self._random, "other", max_devices)

    def sharding(self, shape: Shape, manual_axes: Collection[str] = (), *, unreduced: bool = True) -> str:
        """Draw a sharding of a tensor of that shape, without manual axes: `<@m, [{"x", ?}, {?}]>`."""
        mesh = self.meshes[0]
        if len(self.meshes) > 1 and not manual_axes and self._random.random() < 0.25:
            mesh = self.meshes[1]
        if not mesh.axes and mesh.device_ids:
            return f"<@{mesh.name}, []>"
        refs = self.some_refs({name: size for name, size in mesh.axes.items() if name not in manual_axes})
        extra = [ref for ref in refs if self._random.random() < self._habits.explicit]
        # Shardy gives up where values with unreduced axes are on different meshes.
        unreduced = unreduced and len(self.meshes) == 1
        partial = [ref for ref in extra if unreduced and self._random.random() < self._habits.unreduced]
        replicated = [ref for ref in extra if ref not in partial]
        dims = self.spread([ref for ref in refs if ref not in extra], len(shape))
        return self.write(mesh, [self.dim(refs) for refs in dims], replicated, partial)

    def some_refs(self, axes: dict[str, int]) -> list[AxisRef]:
        """Draw axes and sub-axes that do not overlap, in random order."""
        chosen = [name for name in axes if self._random.random() < 0.55]
        refs = [ref for name in chosen for ref in self._pieces(name, axes[name])]
        self._random.shuffle(refs)
        return refs

    def _pieces(self, name: str, size: int) -> list[AxisRef]:
        divisors = [pre_size for pre_size in range(2, size) if size % pre_size == 0]
        if not divisors or self._random.random() >= self._habits.sub_axes:
            return [AxisRef(name)]
        pre_size = self._random.choice(divisors)
        refs = [AxisRef(name, SubAxis(1, pre_size)), AxisRef(name, SubAxis(pre_size, size // pre_size))]
        return self._random.sample(refs, self._random.randint(1, 2))

    def spread(self, refs: Sequence[AxisRef], rank: int) -> list[list[AxisRef]]:
        """Distribute axes over the dims of a tensor; axes that fit no dim are dropped."""
        dims: list[list[AxisRef]] = [[] for _ in range(rank)]
        for ref in refs:
            if rank:
                dim = self._random.choice(dims)
                if not (dim and _continues(dim[-1], ref)):
                    dim.append(ref)
        return dims

    def dim(self, refs: Sequence[AxisRef], *, priorities: bool = True) -> str:
        """Return the text of a dim sharding with these axes."""
        open_mark = [] if self._random.random() < self._habits.closed else ["?"]
        parts = [*map(axis_text, refs), *open_mark]
        priority = (
            f"p{self._random.randrange(3)}" if priorities and self._random.random() < self._habits.priorities else ""
        )
        return f"{{{', '.join(parts)}}}{priority if parts else ''}"

    def write(
        self,
        mesh: RandomMesh,
        dims: Sequence[str],
        replicated: Sequence[AxisRef] = (),
        unreduced: Sequence[AxisRef] = (),
    ) -> str:
        """Return the text of a sharding with these dims and explicit axes."""
        text = f"<{self._reference(mesh)}, [{', '.join(dims)}]"
        for kind, refs in (("replicated", replicated), ("unreduced", unreduced)):
            if refs:
                text += f", {kind}={{{', '.join(map(axis_text, in_mesh_order(refs, mesh)))}}}"
        return f"{text}>"

    def _reference(self, mesh: RandomMesh) -> str:
        if not mesh.device_ids and len(self.meshes) > 1 and self._random.random() < self._habits.inlined:
            return f"mesh<[{mesh.axis_list()}]>"
        return f"@{mesh.name}"


def axis_text(ref: AxisRef) -> str:
    """Return the text of an axis ref: `"x"` or `"x":(2)4`."""
    sub_axis = ref.sub_axis
    return f'"{ref.name}"' + ("" if sub_axis is None else f":({sub_axis.pre_size}){sub_axis.size}")


def in_mesh_order(refs: Sequence[AxisRef], mesh: RandomMesh) -> list[AxisRef]:
    """Sort axes as lists of explicit axes require, and merge consecutive sub-axes."""
    names = list(mesh.axes)
    ordered = sorted(refs, key=lambda ref: (names.index(ref.name), ref.sub_axis.pre_size if ref.sub_axis else 1))
    kept: list[AxisRef] = []
    for ref in ordered:
        if not (kept and _continues(kept[-1], ref)):
            kept.append(ref)
    return kept


def _continues(before: AxisRef, ref: AxisRef) -> bool:
    first, second = before.sub_axis, ref.sub_axis
    if before.name != ref.name or first is None or second is None:
        return False
    return first.pre_size * first.size == second.pre_size


def _random_mesh(source: random.Random, name: str, max_devices: int) -> RandomMesh:
    axes: dict[str, int] = {}
    for axis in AXIS_NAMES[: source.choice((1, 2, 2, 3, 3, 4))]:
        axes[axis] = source.choice([size for size in AXIS_SIZES if size * _total(axes) <= max_devices])
    return RandomMesh(name, axes)


def _total(axes: dict[str, int]) -> int:
    count = 1
    for size in axes.values():
        count *= size
    return count
