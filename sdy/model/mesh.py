"""Device meshes with named axes. Source: docs/spec/01, 1.4.2 and 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_tuple_of
from sdy.model.axis import AxisRef, quoted
from sdy.model.cached_hash import CachedHash
from sdy.model.html_repr import HtmlRepr

SHOWN_IDS = 8  # device ids that the short text of a mesh lists
MAX_LISTED_DEVICES = 2**18  # tables and replica groups of more devices would take seconds each


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """A named axis of a mesh, with the number of devices along it."""

    name: str
    size: int

    def __str__(self) -> str:
        return f"{quoted(self.name)}={self.size}"

    def __repr__(self) -> str:
        return f"MeshAxis({self})"


@dataclass(frozen=True, slots=True)
class Mesh(CachedHash, HtmlRepr):
    """A list of axes, major first, and the devices in row-major order of their coordinates.

    `device_ids` is empty for the identity order: ids 0..N-1 in order are dropped at construction, unless the mesh has
    no axes. `Mesh(())` is the *empty* mesh, a placeholder that any mesh may replace; `Mesh((), (d,))` is a *maximal*
    mesh, which is device `d` alone.
    """

    axes: tuple[MeshAxis, ...]
    device_ids: tuple[int, ...] = ()

    __hash__ = CachedHash.__hash__

    def __post_init__(self) -> None:
        hint = """write Mesh((MeshAxis("x", 4),)), or sdy.parse_mesh('<["x"=4]>')"""
        require_tuple_of(self.axes, MeshAxis, "Mesh: axes", hint)
        ids = self.device_ids
        if self.axes and len(ids) == self.device_count and ids == tuple(range(len(ids))):
            object.__setattr__(self, "device_ids", ())

    def __str__(self) -> str:
        ids = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        return f"<[{', '.join(map(str, self.axes))}]{ids}>"

    def __repr__(self) -> str:
        return f"Mesh({self.short_text})"

    @property
    def short_text(self) -> str:
        """The text of the mesh, in which at most `SHOWN_IDS` device ids are listed."""
        more = len(self.device_ids) - SHOWN_IDS
        if more <= 0:
            return str(self)
        ids = ", ".join(map(str, self.device_ids[:SHOWN_IDS]))
        return f"<[{', '.join(map(str, self.axes))}], device_ids=[{ids}, and {more:,} more]>"

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each axis, major first."""
        return {axis.name: axis.size for axis in self.axes}

    def axes_text(self, separator: str = " ") -> str:
        """Return the axes with their sizes: `data=4 model=2`."""
        return separator.join(f"{axis.name}={axis.size}" for axis in self.axes)

    @property
    def is_empty(self) -> bool:
        """Return whether the mesh has neither axes nor device ids."""
        return not self.axes and not self.device_ids

    @property
    def is_maximal(self) -> bool:
        """Return whether the mesh has no axes and exactly one device id."""
        return not self.axes and len(self.device_ids) == 1

    @property
    def device_count(self) -> int:
        """The product of the axis sizes; 1 without axes."""
        return prod(axis.size for axis in self.axes)

    def has_axis(self, name: str) -> bool:
        """Return whether there is an axis `name`."""
        return name in axis_positions(self)

    def axis_size(self, name: str) -> int:
        """Return the number of devices along axis `name`. Raises: KeyError if the mesh has no axis `name`."""
        return self.axes[axis_positions(self)[name]].size

    def size_of(self, ref: AxisRef) -> int:
        """Return the number of devices along `ref`. Raises: KeyError if the mesh does not have the axis."""
        return self.axis_size(ref.name) if ref.sub_axis is None else ref.sub_axis.size

    def devices(self) -> Sequence[int]:
        """Return all device ids, in row-major order of their coordinates."""
        return self.device_ids or range(self.device_count)

    def listed_devices(self) -> Sequence[int]:
        """Return all device ids for a caller that enumerates them.

        Raises: SdyError SDY-L019, without a location, if there are too many.
        """
        check_listed(self.device_count)
        return self.devices()

    def same_axes(self, other: Mesh) -> bool:
        """Return whether the meshes have the same axes, in any order of devices. Any two maximal meshes do."""
        return self.is_maximal == other.is_maximal and self.axes == other.axes


def check_listed(count: int) -> None:
    """Check the number of devices before they are enumerated.

    Raises: SdyError SDY-L019, without a location, if there are too many.
    """
    if count > MAX_LISTED_DEVICES:
        message = f"expected at most {MAX_LISTED_DEVICES} devices where each of them is listed, got {count}"
        raise SdyError(Diagnostic("SDY-L019", message, hint="use a smaller mesh, or avoid this op on shards"))


@lru_cache(maxsize=4096)
def axis_positions(mesh: Mesh) -> dict[str, int]:
    """Return the position of each axis in the mesh, by name."""
    return {axis.name: position for position, axis in enumerate(mesh.axes)}
