"""Which devices hold which part of a tensor, drawn in the terminal as `jax.debug.visualize_array_sharding` draws it."""

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
from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.report.notation import checked, read_any, read_mesh

LINES = 10  # of a whole picture, before it is scaled
COLUMNS_PER_LINE = 2.5  # what makes a square tensor a square on the screen
COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#f7b6d2", "#dadaeb", "#c7e9c0", "#fdd0a2")


@dataclass(frozen=True, slots=True)
class _ShardedDim:
    """A dim and its pieces: all as long as the first, but for the last ones where they do not divide it."""

    size: int
    pieces: int

    def span(self, piece: int) -> tuple[int, int]:
        """Where a piece begins and ends. One that is all padding begins where it ends."""
        length = -(-self.size // self.pieces)
        return min(piece * length, self.size), min((piece + 1) * length, self.size)

    def share(self, piece: int) -> float:
        """How much of the dim a piece is."""
        start, end = self.span(piece)
        return (end - start) / self.size if self.size else 1.0


@dataclass(frozen=True, slots=True)
class _Frame:
    """What a picture is drawn in. `lines` are those of a whole tensor; widths are of a cell, in columns."""

    lines: int
    min_width: int
    max_width: int
    coloured: bool
    device_kind: str


def visualize_sharding(
    shape: Sequence[int],
    sharding: TensorSharding | str,
    mesh: Mesh | str | None = None,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    device_kind: str = "CPU",
) -> None:
    """Print a picture of a tensor of `shape`, with the numbers of the devices on the part that they hold.

    The sharding is one of the model or a text in any notation (`<@m, [{"x"}, {}]>`, `P('x', None)`, `A[I_X, J]`,
    `{devices=[4,1]<=[4]}`); so is the mesh (`x=4,y=2`), where the sharding does not bring its own. The first dim goes
    down and the second across; a tensor of more dims is drawn as the matrices of its last two, one under the other.
    Raises: SdyError where sharding, mesh and shape do not fit.
    """
    placed, on = _placed(sharding, read_mesh(mesh) if isinstance(mesh, str) else mesh, len(shape))
    dims, holders = _sharded_dims(shape, placed, on), _holders(len(shape), placed, on)
    console = Console(width=max_width)
    coloured = use_color and console.color_system is not None
    frame = _Frame(int(LINES * scale), min_width, max_width, coloured, device_kind)
    for leading in product(*(range(cut.pieces) for cut in dims[:-2])):
        if leading:
            spans = (cut.span(piece) for cut, piece in zip(dims, leading, strict=False))
            console.print(f"[{', '.join(f'{start}:{end}' for start, end in spans)}, :, :]", markup=False)
        of_matrix = {part[len(leading) :]: held for part, held in holders.items() if part[: len(leading)] == leading}
        console.print(_matrix(dims[-2:], of_matrix, frame), end="\n\n")


def _placed(sharding: TensorSharding | str, mesh: Mesh | None, rank: int) -> tuple[TensorSharding, Mesh]:
    if isinstance(sharding, str):
        return read_any(sharding, mesh, rank)
    known = sharding.mesh if isinstance(sharding.mesh, Mesh) else mesh
    if known is None:
        raise SdyError(Diagnostic("SDY-T208", f"the sharding is on @{sharding.mesh}, and no mesh is given"))
    return checked(sharding, known, rank)


def _sharded_dims(shape: Sequence[int], sharding: TensorSharding, mesh: Mesh) -> list[_ShardedDim]:
    if mesh.is_maximal:  # its sharding speaks of no dims
        return [_ShardedDim(size, 1) for size in shape]
    return [_ShardedDim(size, sharded_size(dim.axes, mesh)) for size, dim in zip(shape, sharding.dims, strict=True)]


def _holders(rank: int, sharding: TensorSharding, mesh: Mesh) -> dict[tuple[int, ...], list[int]]:
    """The devices of each part, which is one piece of each dim."""
    if mesh.is_maximal:
        return {(0,) * rank: list(mesh.device_ids)}
    coordinates = [shard_coordinates(dim.axes, mesh) for dim in sharding.dims]
    holders: dict[tuple[int, ...], list[int]] = {}
    for device in range(mesh.device_count):
        holders.setdefault(tuple(of_device[device] for of_device in coordinates), []).append(device)
    return holders


def _matrix(dims: Sequence[_ShardedDim], holders: dict[tuple[int, ...], list[int]], frame: _Frame) -> Table:
    """The parts of a matrix; those of a vector in one row; of a scalar in one cell."""
    is_matrix = len(dims) == 2
    rows, columns = dims[0] if is_matrix else _ShardedDim(1, 1), dims[-1] if dims else _ShardedDim(1, 1)
    # A vector is as narrow as its cells may be: it has no height to compare its length with.
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
    for row in range(rows.pieces):
        height = int(rows.share(row) * frame.lines) if is_matrix else 1
        cells: list[Padding] = []
        for column in range(columns.pieces):
            width = int(columns.share(column) * across)
            is_empty = not rows.share(row) or not columns.share(column)
            devices = ",".join(map(str, holders[(row, column)[2 - len(dims) :]]))
            label = f"{frame.device_kind} {devices}{' (padding)' if is_empty else ''}"
            colour = COLOURS[(row * columns.pieces + column + row) % len(COLOURS)]
            cells.append(_cell(label, width, height, colour, frame))
        table.add_row(*cells)
    return table


def _cell(label: str, width: int, height: int, colour: str, frame: _Frame) -> Padding:
    """A label in the middle of a part, which is as wide as the label at least."""
    left, odd_column = divmod(min(max(width, frame.min_width), frame.max_width) - len(label) - 2, 2)
    top, odd_line = divmod(height - 2, 2)
    extra = int(frame.coloured)  # in the place of the lines around the cell
    sides = (top + extra, left + odd_column + extra, top + odd_line + extra, left + extra)
    top, right, bottom, left = (max(side, 0) for side in sides)
    style = Style(color="#000000", bgcolor=colour) if frame.coloured else Style()
    return Padding(Align(label, "center", vertical="middle"), (top, right, bottom, left), style=style)
