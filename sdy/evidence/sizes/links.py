"""Ties between a program and its local program: at arguments and results, and at ops of the same line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.facts.traits import generates, is_elementwise, terminator_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.stablehlo import gather_scatter, linalg, reduction, shape, window
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.evidence.sizes.size_classes import Variable
from sdy.evidence.sizes.ties import Ties
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import ProgramPlacement

# Ops, beside elementwise ones and constants, that partitioning keeps as they are, on shards. Others also arise from
# communication.
KEPT = frozenset[type[Operation]](
    (*reduction.OPS, *gather_scatter.OPS, *linalg.OPS, *window.OPS, DotGeneralOp, SliceOp, PadOp)
)
_Key = tuple[object, str, int]


def tie_boundary(
    written: Ties, local: Ties, module: ModuleOp, local_module: ModuleOp, boundary: ProgramPlacement
) -> None:
    """Tie the dims of the arguments and results of both main functions."""
    main, local_main = main_function(module), main_function(local_module)
    pairs = [
        *zip(main.body.block.args, local_main.body.block.args, strict=True),
        *zip(*(terminator_of(each.body).operands for each in (main, local_main)), strict=True),
    ]
    for (whole, shard), placement in zip(pairs, (*boundary.arguments, *boundary.results), strict=True):
        meshes = placement.mesh, local.mesh.of(placement.mesh)
        unsharded = ((1, 1),) * len(placement.shape)
        counts = [tuple(sharded_size(dim.axes, each) for each in meshes) for dim in placement.sharding.dims]
        for one, other, (before, after) in zip(written.of(whole), local.of(shard), counts or unsharded, strict=True):
            _tie_shard(written, one, other, before, after)
        written.values.same(whole, shard)


def _tie_shard(ties: Ties, whole: Variable, shard: Variable, count: int, after: int) -> None:
    """Tie a dim and its shard. If the shards are uneven, the last one stays as short as it is."""
    classes = ties.classes
    size, extent = classes.sizes[whole], classes.sizes[shard]
    missing = count * extent - size
    if missing == 0:
        ties.tie_ratio(shard, whole, after)
    elif 0 < missing < extent:
        classes.tie_sum(((after, shard), (-1, whole)), missing)
        classes.raise_least(shard, missing + 1)
    else:
        for each in (whole, shard):
            classes.lock(each, "some of its shards are empty")


def tie_same_lines(written: Ties, local: Ties) -> None:
    """Tie the values of ops of the same line and kind, one by one, or all to the only one of the program."""
    groups = [_by_line(ties) for ties in (written, local)]
    for key, ops in groups[0].items():
        others = groups[1].get(key, ())
        if len(ops) == 1 and isinstance(ops[0], shape.ConstantOp):
            written.values.copies(ops[0], *others)
        if len(ops) in (1, len(others)):
            for op, other in zip(ops * (len(others) // len(ops)), others, strict=True):
                if isinstance(op, PadOp | SliceOp):
                    _tie_alike(local, op, other, written)
                if not isinstance(op, PadOp):
                    _tie_shards(local, (*op.results, *op.operands), (*other.results, *other.operands), written)


def _tie_alike(local: Ties, op: Operation, other: Operation, written: Ties) -> None:
    """Tie the numbers of slices or pads along the dims along which they are the same; others may be halos.

    For pads, these are the sizes as well.
    """
    names = ("start_indices", "limit_indices") if isinstance(op, SliceOp) else ("edge_padding_low", "edge_padding_high")
    for dim in range(len(written.of(op.results[0]))):
        ones, others = (
            [
                *(ties.of(value)[dim] for value in (*each.operands[:1], *each.results) if isinstance(op, PadOp)),
                *(ties.attribute(each, name, dim) for name in names),
            ]
            for ties, each in ((written, op), (local, other))
        )
        if all(local.classes.sizes[one] == local.classes.sizes[two] for one, two in zip(ones, others, strict=True)):
            for one, two in zip(ones, others, strict=True):
                local.tie(one, two)


def _tie_shards(local: Ties, wholes: Sequence[SSAValue], shards: Sequence[SSAValue], written: Ties) -> None:
    for whole, shard in zip(wholes, shards, strict=False):
        dims, others = written.of(whole), local.of(shard)
        for one, other in zip(dims, others, strict=True) if len(dims) == len(others) else ():
            size, extent = local.classes.sizes[one], local.classes.sizes[other]
            count = -(-size // extent) if extent else 0
            after = local.mesh.ratio(count)
            if after is not None and 0 <= count * extent - size < extent:
                _tie_shard(local, one, other, count, after)
        local.values.same(whole, shard)


def _by_line(ties: Ties) -> dict[_Key, list[Operation]]:
    found: dict[_Key, list[Operation]] = defaultdict(list)
    seen: set[Operation] = set()
    for value in ties.dims:
        op = value.owner
        if isinstance(op, Operation) and op not in seen and (type(op) in KEPT or is_elementwise(op) or generates(op)):
            seen.add(op)
            location = op.location
            if isinstance(location, FileLineColLoc) and all(as_tensor(each.type) for each in op.results):
                found[location, op.name, len(ties.of(op.results[0]))].append(op)
    return found
