"""Express a sharding on a mesh with the same axes and another device order, such that each device keeps its shard."""

from __future__ import annotations

from dataclasses import replace

from sdy.model.axis import AxisList
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.digits import digits_of


def equivalent_sharding(
    sharding: TensorSharding, mesh: Mesh, reference: str | Mesh, other: Mesh
) -> TensorSharding | None:
    """Return the sharding on `other`, which `reference` names, that gives each device the same shard, or None.

    An axis in one device order may be another axis in the other order. Partial values stay on their devices only if
    they are unreduced along the same axes.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("b", 2)))
    >>> turned = Mesh(mesh.axes, (0, 2, 1, 3))
    >>> rows = TensorSharding("mesh", (DimSharding((AxisRef("a"),)),))
    >>> print(equivalent_sharding(rows, mesh, "turned", turned).dims[0].axes[0])
    "b"
    """
    digits = digits_of(list(sharding.axis_refs()), mesh)
    assert digits is not None  # the refs of one sharding have a common split
    digit_at = {shard_coordinates((ref,), other): digit for digit, ref in enumerate(digits.refs)}

    def on_other(axes: AxisList) -> AxisList | None:
        found = [digit_at.get(shard_coordinates((digits.refs[digit],), mesh)) for digit in digits.split(axes)]
        return None if None in found else digits.axes(digit for digit in found if digit is not None)

    dims = [on_other(dim.axes) for dim in sharding.dims]
    if None in dims or on_other(sharding.unreduced) != sharding.unreduced:
        return None
    return replace(
        sharding, mesh=reference, dims=tuple(DimSharding(axes) for axes in dims if axes is not None), replicated=()
    )
