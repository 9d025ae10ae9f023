"""The collective that a local program lacks: results become right if devices combine theirs along some mesh axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp, MinimumOp
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.field_types import equal_elements, is_field
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.shards import unshard
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field
from sdy.model.axis import AxisRef
from sdy.model.devices.placement import TensorPlacement

# The combinations that are tried: those of the collectives that a partitioner inserts.
COMBINATIONS: dict[str, type[Operation]] = {"sum": AddOp, "maximum": MaximumOp, "minimum": MinimumOp}


def missing_collective(value: DeviceArray, placement: TensorPlacement, expected: Array, field: Field) -> str:
    """Return which combination over which axes makes a result the expected one: `the sum over "x" is missing`.

    Return an empty text if there is none.
    """
    if not is_field(expected.dtype):
        return ""
    grid = grid_of_mesh(placement.mesh, placement.sharding.axis_refs())
    held = regridded(value, grid)
    for names in _free_axes(placement):
        axes = tuple(axis for name in names for axis in axes_of_ref(grid, AxisRef(name), placement.mesh))
        sizes = [grid.sizes[axis] if axis in axes else size for axis, size in enumerate(held.array.shape)]
        full = np.broadcast_to(held.array, sizes)
        for text, op_class in COMBINATIONS.items():
            combined = np.expand_dims(FieldFold(field, op_class).reduced(full, axes), axes)
            whole = unshard(replace(held, array=combined), placement.sharding, placement.mesh, placement.shape, field)
            if equal_elements(whole, expected).all():
                listed = ", ".join(f'"{name}"' for name in names)
                return f"the {text} over {listed} is missing"
    return ""


def _free_axes(placement: TensorPlacement) -> Iterator[tuple[str, ...]]:
    """Yield sets of mesh axes along which devices must hold copies of a value, small ones first."""
    used = {ref.name for ref in placement.sharding.axis_refs()}
    free = [axis.name for axis in placement.mesh.axes if axis.name not in used]
    for count in range(1, len(free) + 1):
        yield from combinations(free, count)


def with_cause(error: SdyError, cause: str) -> SdyError:
    """Return an error of different copies with its cause."""
    first, *others = error.diagnostics
    return SdyError(replace(first, message=f"{first.message}; {cause}", hint=None), *others) if cause else error
