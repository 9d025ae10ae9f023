"""SVG pictures of tensors on devices: a rectangle per shard with its devices, and a ruler per mesh axis of a dim.

Dim 0 is vertical and dim 1 horizontal. The rulers of a dim lie beside it, that of the major axis outside. Their
segments are the parts into which the axis divides the dim, in the colour of the axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import prod

from sdy.model.devices.placement import TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding
from sdy.report.html.markup import AxisColours
from sdy.report.visualize import ShardedDim, holders_of_shards, sharded_dims

LONG, SHORT = 168.0, 56.0  # the longest and the shortest side of a tensor, in pixels
MOST = 336.0  # the longest side where labels need more than LONG
RULER, GAP, MARGIN = 5.0, 2.0, 1.0
LETTER, LINE = 6.2, 14.0  # the width and the height of a character
MAX_SHARDS, MAX_DEVICES = 256, 4096
ONE = ShardedDim(1, 1)


def placement_picture(placement: TensorPlacement, colours: AxisColours) -> str:
    """Return an SVG picture of a scalar, a vector or a matrix on devices.

    The text is empty for tensors of more dims, and for more than `MAX_SHARDS` shards or `MAX_DEVICES` devices.
    """
    shape, sharding, mesh = placement.shape, placement.sharding, placement.mesh
    if len(shape) > 2 or mesh.device_count > MAX_DEVICES:
        return ""
    dims = sharded_dims(shape, sharding, mesh)
    rows, columns = dims if len(dims) == 2 else (ONE, dims[0] if dims else ONE)
    if rows.shard_count * columns.shard_count > MAX_SHARDS:
        return ""
    unsharded = DimSharding()
    of_dims = () if mesh.is_maximal else sharding.dims
    down, across = ((unsharded,) * 2 + of_dims)[-2:]
    holders = holders_of_shards(len(shape), sharding, mesh)
    label = max((len(devices_text(devices)) for devices in holders.values()), default=1)
    height, width = _sides(shape)
    height = max(height, min(MOST, rows.shard_count * LINE))
    width = max(width, min(MOST, columns.shard_count * (label + 1) * LETTER))
    left, top = (MARGIN + len(each.axes) * (RULER + GAP) for each in (down, across))
    parts = [
        *_rulers(down, mesh, height, colours, is_vertical=True, start=top),
        *_rulers(across, mesh, width, colours, is_vertical=False, start=left),
    ]
    for key, devices in holders.items():
        row, column = (0, 0, *key)[-2:]
        y, x = top + _position(rows, row, height), left + _position(columns, column, width)
        size = rows.fraction(row) * height, columns.fraction(column) * width
        parts.append(_shard(x, y, size, devices))
    box = f"0 0 {left + width + MARGIN:g} {top + height + MARGIN:g}"
    return (
        f'<svg viewBox="{box}" width="{left + width + MARGIN:g}" role="img" aria-label="shards">{"".join(parts)}</svg>'
    )


def _sides(shape: Sequence[int]) -> tuple[float, float]:
    """Return the height and the width of the picture of a tensor, in proportion unless one side would be too short."""
    if len(shape) < 2:
        return SHORT / 2, LONG if shape else SHORT
    longest = max(*shape, 1)
    height, width = (max(SHORT, LONG * size / longest) for size in shape)
    return height, width


def _position(dim: ShardedDim, shard: int, length: float) -> float:
    return dim.span(shard)[0] / dim.size * length if dim.size else 0.0


def _rulers(
    dim: DimSharding, mesh: Mesh, length: float, colours: AxisColours, *, is_vertical: bool, start: float
) -> Iterator[str]:
    """Yield the segments of the axes of a dim; each axis divides the segments of the axes before it."""
    for index, axis in enumerate(dim.axes):
        count = prod(mesh.size_of(each) for each in dim.axes[: index + 1])
        beside, segment = MARGIN + index * (RULER + GAP), length / count
        for part in range(count):
            along, long = start + part * segment, max(segment - GAP, 1.0)
            x, y, width, height = (beside, along, RULER, long) if is_vertical else (along, beside, long, RULER)
            yield (
                f'<rect class="ruler" style="--axis:{colours.hue(axis.name)}" x="{x:.1f}" y="{y:.1f}" '
                f'width="{width:.1f}" height="{height:.1f}"><title>{escape(axis.name)} {part}</title></rect>'
            )


def _shard(x: float, y: float, size: tuple[float, float], devices: Sequence[int]) -> str:
    """Return the rectangle of a shard, with the numbers of its devices where they fit."""
    height, width = size
    label = devices_text(devices)
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    rectangle = f'<rect class="shard" {shape}><title>devices {label}</title></rect>'
    if height < LINE or width < LETTER * len(label):
        return rectangle
    at = f'x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}"'
    return f'{rectangle}<text {at} text-anchor="middle">{label}</text>'


def devices_text(devices: Sequence[int]) -> str:
    """Return device numbers in short: `0 to 7`, `0, 2, 4` or `0, 2, … (16)`.

    >>> devices_text([0, 1, 2, 3]), devices_text([0, 4])
    ('0 to 3', '0, 4')
    """
    first, last = devices[0], devices[-1]
    if len(devices) > 2 and list(devices) == list(range(first, last + 1)):
        return f"{first} to {last}"
    if len(devices) <= 4:
        return ", ".join(map(str, devices))
    return f"{first}, {devices[1]}, … ({len(devices)})"
