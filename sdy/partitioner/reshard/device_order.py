"""A sharding said on a mesh with the same axes and another order of devices, where each device keeps its shard."""

from __future__ import annotations

from dataclasses import replace

from sdy.model.axis import AxisList
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.digits import digits_of


def restated(sharding: TensorSharding, mesh: Mesh, reference: str | Mesh, other: Mesh) -> TensorSharding | None:
    """The sharding on `other`, which `reference` refers to, that puts the same shard on each device; None without one.

    What is an axis in one order of devices may be another axis in the other order. Partial values stay where they are
    only if they are unreduced on the same axes.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("b", 2)))
    >>> turned = Mesh(mesh.axes, (0, 2, 1, 3))
    >>> rows = TensorSharding("mesh", (DimSharding((AxisRef("a"),)),))
    >>> print(restated(rows, mesh, "turned", turned).dims[0].axes[0])
    "b"
    """
    digits = digits_of(list(sharding.axis_refs()), mesh)
    assert digits is not None  # they stand in one sharding
    there = {shard_coordinates((ref,), other): digit for digit, ref in enumerate(digits.refs)}

    def said(axes: AxisList) -> AxisList | None:
        found = [there.get(shard_coordinates((digits.refs[digit],), mesh)) for digit in digits.cut(axes)]
        return None if None in found else digits.axes(digit for digit in found if digit is not None)

    dims = [said(dim.axes) for dim in sharding.dims]
    if None in dims or said(sharding.unreduced) != sharding.unreduced:
        return None
    return replace(
        sharding, mesh=reference, dims=tuple(DimSharding(axes) for axes in dims if axes is not None), replicated=()
    )
