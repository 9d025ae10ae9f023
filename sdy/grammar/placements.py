"""Reader and writer of the placements of a DTensor of PyTorch: `[Shard(0), Replicate(), Partial("sum")]`.

There is one placement per axis of the mesh, in order. If several axes shard a dim, the first is the major one. A
`_StridedShard` shards after later axes of the mesh that are more major; `split_factor` is the product of their sizes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from sdy.grammar.errors import NotationError
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind, TensorSharding
from sdy.model.sharding_update import closed_on

_PLACEMENT = re.compile(
    r"\s*(?:_?(?:Strided)?Shard\(\s*(?:dim\s*=\s*)?(?P<dim>-?\d+)\s*(?:,\s*(?:\w+\s*=\s*)?(?P<factor>\d+)\s*)?\)"
    r"""|(?P<partial>Partial)\(\s*(?:reduce_op\s*=\s*)?["']?(?P<kind>\w*)["']?\s*\)|Replicate\(\s*\))\s*(?:,|$)"""
)
IS_PLACEMENTS = re.compile(r"\s*[\[(]?\s*(?:Shard|_StridedShard|Replicate|Partial)\(.*[\])]\s*")
_HINT = 'write one placement per axis: [Shard(0), Replicate(), Partial("sum")]'


def write_placements(sharding: TensorSharding, mesh: Mesh) -> str | None:
    """Return the text; None if a sub-axis shards a dim or has partial values, which placements cannot express."""
    if any(axis.sub_axis for axis in sharding.axis_refs()):
        return None
    texts = dict.fromkeys(sharding.unreduced, f'Partial("{sharding.unreduced_kind.value}")')
    names = [axis.name for axis in mesh.axes]
    for number, dim in enumerate(sharding.dims):
        for position, axis in enumerate(dim.axes):
            later = names[names.index(axis.name) :]
            factor = prod(mesh.axes[names.index(each.name)].size for each in dim.axes[:position] if each.name in later)
            strided = f"_StridedShard({number}, split_factor={factor})"
            texts[axis] = f"Shard({number})" if factor == 1 else strided
    return f"[{', '.join(texts.get(AxisRef(name), 'Replicate()') for name in names)}]"


def read_placements(text: str, mesh: Mesh, rank: int | None) -> TensorSharding:
    """Return the sharding on `mesh`; without `rank`, that of a tensor with no dims after the last one that is sharded.

    Raises: NotationError SDY-P111 if the text is malformed, or does not fit the mesh or the rank.
    """
    found = _placements(text, mesh)
    sharded = [int(each["dim"]) for each in found if each["dim"]]
    count = max(sharded, default=-1) + 1 if rank is None else rank
    if any(not -count <= dim < count for dim in sharded):
        raise _error(text, f"expected dims of a tensor of rank {count}, got {', '.join(map(str, sharded))}")
    dims: list[list[AxisRef]] = [[] for _ in range(count)]
    sizes = mesh.sizes
    for axis, match in reversed(list(zip(mesh.axes, found, strict=True))):  # the axes after it are in order
        if match["dim"]:
            axes, factor = dims[int(match["dim"])], int(match["factor"] or 1)
            factors = [prod(sizes[each.name] for each in axes[:place]) for place in range(len(axes) + 1)]
            if factor not in factors:
                raise _error(text, f"expected a split_factor of {', '.join(map(str, factors))}", match)
            axes.insert(factors.index(factor), AxisRef(axis.name))
    partial = {AxisRef(axis.name): each for axis, each in zip(mesh.axes, found, strict=True) if each["partial"]}
    kinds = {each["kind"] or "sum": each for each in partial.values()}
    for kind, match in kinds.items():
        if len(kinds) > 1 or kind not in [each.value for each in ReductionKind]:
            raise _error(text, f"expected partial sums, or all of one kind of sum, max and min, got {kind}", match)
    return replace(closed_on(mesh, map(tuple, dims), tuple(partial)), unreduced_kind=ReductionKind([*kinds, "sum"][0]))


def _placements(text: str, mesh: Mesh) -> list[re.Match[str]]:
    """Return the placements, one per axis of the mesh; the brackets around them may be left out."""
    has_brackets = text.lstrip()[0] in "[("
    end = len(text.rstrip()) - has_brackets
    start = len(text) - len(text.lstrip()) + has_brackets
    found: list[re.Match[str]] = []
    while start < end:
        match = _PLACEMENT.match(text, start, end)
        if match is None:
            raise NotationError("SDY-P111", f"expected a placement, got {text[start:end].strip()!r}", start, end, _HINT)
        found.append(match)
        start = match.end()
    if len(found) != len(mesh.axes):
        raise _error(text, f"expected {len(mesh.axes)} placements, one per axis of the mesh, got {len(found)}")
    return found


def _error(text: str, message: str, match: re.Match[str] | None = None) -> NotationError:
    return NotationError("SDY-P111", message, *((0, len(text)) if match is None else match.span()), _HINT)
