"""Lemmas of collectives as ops."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.evidence.proof.collectives.windows import checked_groups, exchanged, gathered, permuted, scattered
from sdy.evidence.proof.contributions import combined
from sdy.evidence.proof.factors import number
from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.offsets import Groups
from sdy.evidence.proof.relations import Known, NotProvedError, Relation, View
from sdy.evidence.proof.walk import Lemma, Walk, known_or_view


def groups_of(walk: Walk, op: Operation) -> Groups:
    """Return the groups of devices of a collective. Raises: NotProvedError if they are not lists of all devices."""
    table = op.properties.get("replica_groups")
    needs_global = op.name != "stablehlo.all_to_all"
    if not has_channel(op) or (needs_global and "use_global_device_ids" not in op.properties):
        raise NotProvedError("expected groups of device numbers, got groups of replicas")
    if not isinstance(table, DenseElementsAttr):
        raise NotProvedError("expected groups as a list of devices")
    return listed_groups(table, walk.devices)


@lru_cache(maxsize=4096)
def listed_groups(table: DenseElementsAttr, devices: int) -> Groups:
    """Return groups that are rows of a table. Raises: NotProvedError if they do not have each device once."""
    size, ids = table.type.get_shape()[1], table.get_ints()
    return checked_groups(tuple(tuple(ids[start : start + size]) for start in range(0, len(ids), size)), devices)


def _view(walk: Walk, relation: Relation) -> View:
    found = known_or_view(relation)
    return as_view(found, walk.table) if isinstance(found, Known) else found


def all_gather(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-gather along the windows of a group joins them to one window."""
    groups, dim = groups_of(walk, op), number(op, "all_gather_dim")
    return [gathered(_view(walk, each), dim, groups, walk.devices) for each in operands]


def all_reduce(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-reduce over devices with all contributions gives the value."""
    return [_reduced(walk, op, _view(walk, each)) for each in operands]


def _reduced(walk: Walk, op: Operation, view: View) -> View:
    _, kind = walk.fingerprint(op.regions[0])
    groups = groups_of(walk, op)
    if not kind or view.term.is_varying:
        raise NotProvedError("expected a sum, product, maximum, minimum, and, or: of a value that all devices share")
    if view.partial is not None:
        return combined(view, kind, groups)
    if len(groups[0]) == 1:
        return view
    raise NotProvedError("expected contributions of devices: they reduce other values")


def reduce_scatter(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reduce-scatter is an all-reduce of which each device keeps its part."""
    dim, groups = number(op, "scatter_dimension"), groups_of(walk, op)
    return [scattered(_reduced(walk, op, _view(walk, each)), dim, groups, walk.devices) for each in operands]


def all_to_all(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-to-all moves windows from one dim to another."""
    groups, split, concat = groups_of(walk, op), number(op, "split_dimension"), number(op, "concat_dimension")
    if number(op, "split_count") != len(groups[0]):
        raise NotProvedError("expected as many parts as devices in a group")
    return [exchanged(_view(walk, each), split, concat, groups, walk.devices) for each in operands]


def collective_permute(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a permutation gives each target the window of its source."""
    return [permuted(_view(walk, operands[0]), pairs_of(op), walk.devices)]


def pairs_of(op: Operation) -> list[tuple[int, int]]:
    """Return the sources and targets of a permutation. Raises: NotProvedError if they are not numbers of devices."""
    table = op.properties["source_target_pairs"]
    if not has_channel(op) or not isinstance(table, DenseElementsAttr):
        raise NotProvedError("expected pairs of device numbers, got pairs of replicas")
    ids = table.get_ints()
    return [(ids[n], ids[n + 1]) for n in range(0, len(ids), 2)]


COLLECTIVES: dict[str, Lemma] = {
    "stablehlo.all_gather": all_gather,
    "stablehlo.all_reduce": all_reduce,
    "stablehlo.reduce_scatter": reduce_scatter,
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.collective_permute": collective_permute,
}
