"""Draws which device holds which shard of a tensor in the terminal, like `jax.debug.visualize_array_sharding`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rich.align import Align
from rich.box import SQUARE
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import wrong_type
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.report.notation import JaxMesh, NamedSharding, PartitionSpec, checked, mesh_of, read_any
from sdy.report.shard_layout import ShardedDim, holders_of_shards, sharded_dims

LINES = 10  # height of a picture at scale 1
COLUMNS_PER_LINE = 2.5  # ratio that makes a square tensor look square
COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#f7b6d2", "#dadaeb", "#c7e9c0", "#fdd0a2")


@dataclass(frozen=True, slots=True)
class _Frame:
    """The layout of a picture. `lines` is the height of the full tensor; widths are those of a cell, in columns."""

    lines: int
    min_width: int
    max_width: int
    coloured: bool
    device_kind: str


def visualize_sharding(
    shape: Sequence[int],
    sharding: TensorSharding | PartitionSpec | NamedSharding | str,
    mesh: Mesh | JaxMesh | str | None = None,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    device_kind: str = "CPU",
) -> None:
    """Print a picture of a tensor of `shape`, in which each shard is labeled with the devices that hold it.

    The sharding is a `TensorSharding`, a `PartitionSpec` or `NamedSharding` of JAX, or a text in any notation
    (`<@m, [{"x"}, {}]>`, `P('x', None)`, `A[I_X, J]`, `{devices=[4,1]<=[4]}`). The mesh is a `Mesh`, one of JAX, or a
    text (`x=4,y=2`); it may be omitted if the sharding contains one. The first dim is vertical and the second one
    horizontal; a tensor with more dims is drawn as a sequence of matrices of its last two dims.
    Raises: SdyError if the sharding does not match the mesh or the shape.
    """
    if isinstance(sharding, NamedSharding):
        sharding, mesh = sharding.spec, sharding.mesh if mesh is None else mesh
    resolved, device_mesh = _resolved(sharding, None if mesh is None else mesh_of(mesh), len(shape))
    dims, holders = sharded_dims(shape, resolved, device_mesh), holders_of_shards(len(shape), resolved, device_mesh)
    console = Console(width=max_width)
    coloured = use_color and console.color_system is not None
    frame = _Frame(int(LINES * scale), min_width, max_width, coloured, device_kind)
    for leading in product(*(range(dim.shard_count) for dim in dims[:-2])):
        if leading:
            spans = (dim.span(shard) for dim, shard in zip(dims, leading, strict=False))
            console.print(f"[{', '.join(f'{start}:{end}' for start, end in spans)}, :, :]", markup=False)
        of_matrix = {shard[len(leading) :]: held for shard, held in holders.items() if shard[: len(leading)] == leading}
        console.print(_matrix(dims[-2:], of_matrix, frame), end="\n\n")


def _resolved(
    sharding: TensorSharding | PartitionSpec | str, mesh: Mesh | None, rank: int
) -> tuple[TensorSharding, Mesh]:
    """Return the sharding with its mesh inline, and the mesh."""
    if not isinstance(sharding, TensorSharding):
        is_known = isinstance(sharding, str) or type(sharding).__name__ in ("P", "PartitionSpec")
        if not is_known:
            expected = "a TensorSharding, a PartitionSpec, a NamedSharding or str"
            raise wrong_type(sharding, expected, "sdy.visualize_sharding: sharding")
        return read_any(str(sharding), mesh, rank)
    known = sharding.mesh if isinstance(sharding.mesh, Mesh) else mesh
    if known is None:
        raise SdyError(Diagnostic("SDY-T208", f"a sharding on @{sharding.mesh} requires a mesh"))
    return checked(sharding, known, rank)


def _matrix(dims: Sequence[ShardedDim], holders: dict[tuple[int, ...], list[int]], frame: _Frame) -> Table:
    """Return a table with one cell per shard of a matrix. A vector is drawn as one row, a scalar as one cell."""
    is_matrix = len(dims) == 2
    rows, columns = dims[0] if is_matrix else ShardedDim(1, 1), dims[-1] if dims else ShardedDim(1, 1)
    # A vector has no height to scale its length by: it is as narrow as its cells allow.
    aspect = columns.size / max(1, rows.size) if is_matrix else 1 / max(1, columns.size)
    across = int(frame.lines * aspect) * COLUMNS_PER_LINE
    table = Table(
        show_header=False,
        show_lines=not frame.coloured,
        padding=0,
        highlight=not frame.coloured,
        pad_edge=False,
        box=None if frame.coloured else SQUARE,
    )
    for row in range(rows.shard_count):
        height = int(rows.fraction(row) * frame.lines) if is_matrix else 1
        cells: list[Padding] = []
        for column in range(columns.shard_count):
            width = int(columns.fraction(column) * across)
            is_empty = not rows.fraction(row) or not columns.fraction(column)
            devices = ",".join(map(str, holders[(row, column)[2 - len(dims) :]]))
            label = f"{frame.device_kind} {devices}{' (padding)' if is_empty else ''}"
            colour = COLOURS[(row * columns.shard_count + column + row) % len(COLOURS)]
            cells.append(_cell(label, width, height, colour, frame))
        table.add_row(*cells)
    return table


def _cell(label: str, width: int, height: int, colour: str, frame: _Frame) -> Padding:
    """Return a cell with a centered label; the cell is at least as wide as the label."""
    left, odd_column = divmod(min(max(width, frame.min_width), frame.max_width) - len(label) - 2, 2)
    top, odd_line = divmod(height - 2, 2)
    extra = int(frame.coloured)  # replaces the border of the cell
    sides = (top + extra, left + odd_column + extra, top + odd_line + extra, left + extra)
    top, right, bottom, left = (max(side, 0) for side in sides)
    style = Style(color="#000000", bgcolor=colour) if frame.coloured else Style()
    return Padding(Align(label, "center", vertical="middle"), (top, right, bottom, left), style=style)
