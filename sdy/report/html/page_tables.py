"""What many rows of the page have in common, written once: kinds of values with their shardings, steps of origins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Attribute, SSAValue

from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.sharded_types import local_type, static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.grammar.write import write_axis_ref, write_sharding
from sdy.model.axis import AxisRef
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding

Json = dict[str, object]


def axis_cells(axes: Iterable[AxisRef]) -> list[list[str]]:
    """Of each axis, the name that its colour goes by, and how it is written."""
    return [[ref.name, write_axis_ref(ref).replace('"', "")] for ref in axes]


@dataclass
class TypeTable:
    """Types of values with their shardings: a number for each pair."""

    meshes: MeshTable
    rows: list[Json] = field(default_factory=list[Json])
    _numbers: dict[tuple[Attribute, TensorSharding | None], int] = field(
        default_factory=dict[tuple[Attribute, TensorSharding | None], int]
    )

    def number(self, value: SSAValue, sharding: TensorSharding | None = None) -> int:
        """The row for the value; its own sharding counts where none is given."""
        key = value.type, sharding_of(value) if sharding is None else sharding
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(self._row(*key))
        return self._numbers[key]

    def _row(self, whole: Attribute, sharding: TensorSharding | None) -> Json:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, self.meshes)
        local = whole if sharding is None or mesh is None else local_type(whole, sharding, mesh) or whole
        tensor, shape = as_tensor(whole), static_shape(whole)
        row: Json = {"type": str(whole), "local": str(local), "bytes": [tensor_bytes(whole), tensor_bytes(local)]}
        if tensor is not None and shape is not None:
            dims = [()] * len(shape) if sharding is None or not sharding.dims else [dim.axes for dim in sharding.dims]
            cells = [[size, axis_cells(axes)] for size, axes in zip(shape, dims, strict=False)]
            row |= {"element": str(tensor.element_type), "dims": cells}
        if sharding is not None:
            row |= {"sharding": write_sharding(sharding), "unreduced": axis_cells(sharding.unreduced)}
        return row


@dataclass
class StepTable:
    """Steps by which axes came to values. Each knows the one before: chains that begin alike share what is alike."""

    rows: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])  # before, line, words
    _numbers: dict[tuple[int, str, str], int] = field(default_factory=dict[tuple[int, str, str], int])

    def number(self, steps: Iterable[tuple[str, str]]) -> int:
        """The row of the last of the steps; -1 of none."""
        last = -1
        for line, words in steps:
            key = last, line, words
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(key)
            last = self._numbers[key]
        return last
