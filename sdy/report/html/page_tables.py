"""Tables of the page that store data shared by many rows once: types with shardings, and propagation steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

from xdsl.ir import Attribute, SSAValue

from sdy.dialects.sharded_types import local_type, static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.tensor_bytes import tensor_bytes
from sdy.grammar.write import write_axis_ref, write_sharding
from sdy.model.axis import AxisRef
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.propagation.history import PathLink

Json = dict[str, object]
TypeKey = tuple[Attribute, TensorSharding | None]


def axis_cells(axes: Iterable[AxisRef]) -> list[list[str]]:
    """Return the name of each axis, which selects its colour, and its text."""
    return list(map(axis_cell, axes))


@cache
def axis_cell(axis: AxisRef) -> list[str]:
    """Return the name of an axis and its text; callers do not change the list."""
    return [axis.name, write_axis_ref(axis).replace('"', "")]


@dataclass
class TypeTable:
    """The distinct pairs of a type and a sharding, numbered."""

    meshes: MeshTable
    rows: list[Json] = field(default_factory=list[Json])
    _numbers: dict[TypeKey, int] = field(default_factory=dict[TypeKey, int])
    # By the ids of both, of which a program has few; the key that is kept keeps them alive.
    _by_ids: dict[tuple[int, int], tuple[TypeKey, int]] = field(
        default_factory=dict[tuple[int, int], tuple[TypeKey, int]]
    )

    def number(self, value: SSAValue, sharding: TensorSharding | None = None) -> int:
        """Return the index of the row of a value, with its own sharding if `sharding` is None."""
        key = value.type, sharding_of(value) if sharding is None else sharding
        ids = id(key[0]), id(key[1])
        if ids not in self._by_ids:
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(self._row(*key))
            self._by_ids[ids] = key, self._numbers[key]
        return self._by_ids[ids][1]

    def _row(self, global_type: Attribute, sharding: TensorSharding | None) -> Json:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, self.meshes)
        local = global_type
        if sharding is not None and mesh is not None:
            local = local_type(global_type, sharding, mesh) or global_type
        tensor, shape = as_tensor(global_type), static_shape(global_type)
        sizes = [tensor_bytes(global_type), tensor_bytes(local)]
        row: Json = {"type": str(global_type), "local": str(local), "bytes": sizes}
        if tensor is not None and shape is not None:
            dims = [()] * len(shape) if sharding is None or not sharding.dims else [dim.axes for dim in sharding.dims]
            cells = [[size, axis_cells(axes)] for size, axes in zip(shape, dims, strict=False)]
            row |= {"element": str(tensor.element_type), "dims": cells}
        if sharding is not None:
            row |= {"sharding": write_sharding(sharding), "unreduced": axis_cells(sharding.unreduced)}
        return row


class StepTable:
    """The propagation steps of axes. Each step refers to the previous one, so that chains share common prefixes.

    `describe` returns the line and the text of the last step of a path.
    """

    def __init__(self, describe: Callable[[PathLink], tuple[str, str]]) -> None:
        self.rows: list[tuple[int, str, str]] = []  # previous, line, text
        self._describe = describe
        self._of_links: dict[PathLink, int] = {}
        self._numbers: dict[tuple[int, str, str], int] = {}

    def number(self, path: PathLink) -> int:
        """Return the index of the last step of a path."""
        pending: list[PathLink] = []
        link: PathLink | None = path
        while link is not None and link not in self._of_links:
            pending.append(link)
            link = link.before
        last = -1 if link is None else self._of_links[link]
        for each in reversed(pending):
            key = (last, *self._describe(each))
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(key)
            last = self._of_links[each] = self._numbers[key]
        return last
