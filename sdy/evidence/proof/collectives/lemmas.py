"""Lemmas of collectives as ops, and of manual computations, which are local programs inside of the global one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.replica_groups import ReplicaGroupMeshAxes, ReplicaGroupMeshAxesAttr
from sdy.evidence.proof.collectives.windows import checked_groups, exchanged, gathered, permuted, scattered
from sdy.evidence.proof.compute import Computation, computed
from sdy.evidence.proof.contributions import combined, neutral_element
from sdy.evidence.proof.factors import Factors, number, reduced_along
from sdy.evidence.proof.known import DTYPES, as_known, as_view, combined_copies
from sdy.evidence.proof.offsets import Groups, at
from sdy.evidence.proof.relations import Known, NotProvedError, Relation, Unknown, View
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.shards import starts
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Lemma, Walk, element_of, known_or_view, ops_around, returned_by, shape_of
from sdy.model.axis import AxisList, AxisRef
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digit_of
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding


def groups_of(walk: Walk, op: Operation) -> Groups:
    """Return the groups of devices of a collective. Raises: NotProvedError if they are not lists of all devices."""
    table = op.properties.get("replica_groups")
    needs_global = op.name != "stablehlo.all_to_all"
    if not has_channel(op) or (needs_global and "use_global_device_ids" not in op.properties):
        raise NotProvedError("expected groups of device numbers, got groups of replicas")
    if isinstance(table, ReplicaGroupMeshAxesAttr):
        return checked_groups(groups_of_axes(op, table.data), walk.devices)
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
    body, kind = walk.fingerprint(op.regions[0])
    groups = groups_of(walk, op)
    if not kind or view.term.is_varying:
        raise NotProvedError("expected a sum, product, maximum, minimum, and, or: of a value that all devices share")
    if view.partial is not None:
        return combined(view, kind, groups)
    if len(groups[0]) == 1:
        return view
    # The devices' values are not contributions: the reduction is one of the program.
    known = as_known(view)
    if isinstance(known, Known) and (total := combined_copies(known, kind, len(groups[0]))) is not None:
        return as_view(total, walk.table)
    stacked = replace(view, dims=((), *view.dims))
    together = cleaned(gathered(stacked, 0, groups, walk.devices), walk.table)
    rank = len(stacked.dims)
    neutral = neutral_element(kind, view.term.element)
    if neutral:  # as a reduction in the program: a device that has one element of a dim does not reduce by itself
        first = View(walk.table.make("constant", neutral, (), (), view.term.element), (), ())
        factors = reduced_along((0,), rank, "", body)  # without a kind, so that the dim must be whole
        work = Computation("stablehlo.reduce", factors, (view.shape,), (view.term.element,), walk.devices)
        return computed(work, [together, first], walk.table)[0]
    dims = tuple(range(rank))
    factors = Factors((dims,), (dims[1:],), frozenset(dims[1:]), kind)
    work = Computation("reduce over devices", factors, (view.shape,), (view.term.element,), walk.devices)
    return computed(work, [together], walk.table)[0]


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
    return [permuted(_view(walk, operands[0]), pairs_of(op), walk.devices, zero(walk, op))]


def pairs_of(op: Operation) -> list[tuple[int, int]]:
    """Return the sources and targets of a permutation. Raises: NotProvedError if they are not numbers of devices."""
    table = op.properties["source_target_pairs"]
    if not has_channel(op) or not isinstance(table, DenseElementsAttr):
        raise NotProvedError("expected pairs of device numbers, got pairs of replicas")
    ids = table.get_ints()
    return [(ids[n], ids[n + 1]) for n in range(0, len(ids), 2)]


def zero(walk: Walk, op: Operation) -> Term:
    """Return the term of zero. Raises: NotProvedError if the element type is not a usual one."""
    element = element_of(op.results[0])
    width = 2 if element in ("bf16", "f16") else DTYPES[element](0).itemsize if element in DTYPES else 0
    if not width:
        raise NotProvedError(f"the proof does not support zeros of type {element}")
    return walk.table.make("constant", b"\0" * width, (), (), element)


def manual_computation(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a manual computation is its body on the windows of its in_shardings, which out_shardings put together."""
    assert isinstance(op, ManualComputationOp)
    meshes, manual = visible_meshes(op), op.manual_axes.data
    arguments: list[Relation] = []
    for relation, sharding, argument in zip(operands, op.in_shardings.data, op.body.block.args, strict=True):
        mesh = mesh_of(walk, sharding, meshes)
        part = known_or_view(relation)
        for dim, (extent, axes) in enumerate(zip(shape_of(argument), manual_axes(sharding, manual), strict=True)):
            if axes:
                part = slice_along(part, dim, starts(axes, mesh, extent), extent)
        arguments.append(part)
    walk.block(op.body.block, arguments)
    return _results(walk, op)


def _results(walk: Walk, op: ManualComputationOp) -> list[Relation]:
    """Return the results of a manual computation whose body was walked. Raises: NotProvedError if copies may differ."""
    results: list[Relation] = []
    meshes = visible_meshes(op)
    for position, value in enumerate(returned_by(op.body)):
        relation, result, sharding = walk.environment[value], op.results[position], op.out_shardings.data[position]
        if isinstance(relation, Unknown):
            results.append(Unknown(shape_of(result)))
            continue
        mesh, axes_of_dims = mesh_of(walk, sharding, meshes), manual_axes(sharding, op.manual_axes.data)
        groups = {dim: groups_along(axes, mesh) for dim, axes in enumerate(axes_of_dims) if axes}
        results.append(_returned(walk, relation, groups, _copies(walk, op, mesh)))
    return results


def _returned(walk: Walk, relation: Relation, groups: dict[int, Groups], copies: Groups) -> Relation:
    """Return what a manual computation returns: the windows of groups of devices along dims, one after the other.

    Raises: NotProvedError if they do not follow each other, or devices that must hold `copies` may have others.
    """
    if isinstance(relation, Known) and relation.is_uniform and not groups:
        return relation
    view = _view(walk, relation)
    for dim, along in groups.items():
        view = gathered(view, dim, along, walk.devices)
    are_equal = all(len({at(base, device) for device in group}) == 1 for base in view.base for group in copies)
    if not are_equal or view.partial is not None or view.term.is_varying:
        raise NotProvedError("a manual computation returns different values on devices that must hold copies")
    return cleaned(view, walk.table)


def _copies(walk: Walk, op: Operation, mesh: Mesh) -> Groups:
    """Return the groups of devices that hold copies of a result: those with equal places in computations around it."""
    computations = (each for each in ops_around(walk, op) if isinstance(each, ManualComputationOp))
    around = {name for each in computations for name in each.manual_axes.data}
    axes = tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name not in around)
    return groups_along(axes, mesh)


def mesh_of(walk: Walk, sharding: TensorSharding, meshes: dict[str, Mesh]) -> Mesh:
    """Return the mesh of a sharding. Raises: NotProvedError if it does not have all devices."""
    mesh = resolve_mesh(sharding.mesh, meshes)
    if mesh is None or mesh.device_count != walk.devices:
        raise NotProvedError("a manual computation on a mesh of its own")
    return mesh


def manual_axes(sharding: TensorSharding, manual: Sequence[str]) -> list[AxisList]:
    """Return the manual axes of each dim of a sharding."""
    return [tuple(ref for ref in dim.axes if ref.name in manual) for dim in sharding.dims]


COLLECTIVES: dict[str, Lemma] = {
    "stablehlo.all_gather": all_gather,
    "stablehlo.all_reduce": all_reduce,
    "stablehlo.reduce_scatter": reduce_scatter,
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.collective_permute": collective_permute,
    "sdy.manual_computation": manual_computation,
}


def groups_of_axes(op: Operation, groups: ReplicaGroupMeshAxes) -> Groups:
    """Return the groups that a collective gives by axes of a mesh.

    Raises: NotProvedError if the groups use sub-axes, or a mesh that the module does not define.
    """
    name = groups.mesh.string_value() if isinstance(groups.mesh, SymbolRefAttr) else ""
    mesh = visible_meshes(op).get(name)
    if mesh is None or any(ref.sub_axis is not None or not mesh.has_axis(ref.name) for ref in groups.axes):
        raise NotProvedError("expected groups along full axes of a mesh of the module")
    return groups_along(tuple(AxisRef(ref.name) for ref in groups.axes), mesh)


@lru_cache(maxsize=4096)
def groups_along(axes: AxisList, mesh: Mesh) -> Groups:
    """Return groups of devices that differ in their coordinates along axes only, in the order of these."""
    coordinates = shard_coordinates(axes, mesh)
    groups: dict[object, list[int]] = {}
    digits = [digit_of(ref, mesh) for ref in axes]
    position_of = {device: position for position, device in enumerate(mesh.listed_devices())}
    for device in range(mesh.device_count):
        position = position_of[device]
        rest = position - sum(digit.of(position) * digit.stride for digit in digits)
        groups.setdefault(rest, []).append(device)
    return tuple(tuple(sorted(group, key=lambda device: coordinates[device])) for group in groups.values())
