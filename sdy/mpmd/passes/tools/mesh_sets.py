"""Sets of meshes on which a value is needed or can be made, with the reasons, and where ops and functions store them.

A set without specified meshes is None. The wildcard `*` stands for any other mesh. Source: docs/spec/07, 4.14 to 4.16.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, Use

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.walk import block_of, enclosing
from sdy.mpmd.dialect.attrs import MeshesWithOriginsAttr, MeshWithOrigins
from sdy.mpmd.dialect.functions import is_entry_point, mesh_names
from sdy.mpmd.dialect.ops import AssignOp, BroadcastOp, CallOp, ReduceOp, UnassignOp
from sdy.mpmd.dialect.regions import ForOp
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, get, remove_from_all, update, value_attribute
from sdy.mpmd.passes.tools.uses import distinct

USE_SET, SRC_SET = "mpmd.use_set", "mpmd.src_set"
WILDCARD = "*"
LOW_PRIORITY = "broadcast_in"  # the label of a mesh that is chosen only if there is no other


class MeshSet:
    """A set of meshes in order, each with its labels in order, and the labels of the wildcard."""

    def __init__(self, meshes: Mapping[str, Iterable[str]] | None = None, wildcard: Iterable[str] = ()) -> None:
        self.meshes = {mesh: list(labels) for mesh, labels in (meshes or {}).items()}
        self.wildcard = list(wildcard)

    @staticmethod
    def read(attribute: Attribute | None) -> MeshSet | None:
        """Return the set of an attribute, or None for another attribute."""
        if not isinstance(attribute, MeshesWithOriginsAttr):
            return None
        found = MeshSet()
        for mesh, labels in attribute.data:
            found.add(mesh, labels)
        return found

    def add(self, mesh: str, labels: Iterable[str]) -> None:
        """Add a mesh, or labels to it."""
        known = self.wildcard if mesh == WILDCARD else self.meshes.setdefault(mesh, [])
        known += [label for label in distinct(labels) if label not in known]

    def attribute(self) -> MeshesWithOriginsAttr:
        """Return the attribute that `read` reads."""
        meshes = [*self.meshes.items(), *([(WILDCARD, self.wildcard)] if self.wildcard else [])]
        return MeshesWithOriginsAttr(tuple(MeshWithOrigins(mesh, tuple(labels)) for mesh, labels in meshes))

    def names(self) -> list[str]:
        """Return the names of the meshes, in order."""
        return list(self.meshes)

    def all_names(self) -> set[str]:
        """Return the names of the meshes; the wildcard is one."""
        return {*self.meshes, *((WILDCARD,) if self.wildcard else ())}

    def copy(self) -> MeshSet:
        """Return a copy."""
        return MeshSet(self.meshes, self.wildcard)

    def __contains__(self, mesh: str) -> bool:
        return mesh in self.meshes

    def __bool__(self) -> bool:
        return bool(self.meshes)

    def __str__(self) -> str:
        return ", ".join(f"{mesh}[{','.join(labels)}]" for mesh, labels in self.meshes.items())


def preferred(meshes: MeshSet | None, names: Iterable[str] = ()) -> str | None:
    """Return the mesh to choose, of those in `names` if the set has any of them; None if the set has no mesh."""
    if not meshes:
        return None
    known = {name: meshes.meshes.get(name, meshes.wildcard) for name in names if name in meshes or meshes.wildcard}
    candidates = known or meshes.meshes
    likely = [name for name, labels in candidates.items() if LOW_PRIORITY not in labels]
    return smallest(likely or candidates)


def union(first: MeshSet | None, second: MeshSet | None) -> MeshSet | None:
    """Return the meshes of both sets; one that is None adds nothing."""
    if second is None:
        return first
    found = MeshSet() if first is None else first.copy()
    for mesh, labels in second.meshes.items():
        found.add(mesh, labels)
    if first is not None:
        found.add(WILDCARD, second.wildcard)
    return found


def intersection(first: MeshSet | None, second: MeshSet | None) -> MeshSet | None:
    """Return the meshes that are in both sets, with the labels of both; None stands for all meshes."""
    if first is None or second is None:
        return second if first is None else first
    found = MeshSet()
    for mesh, labels in first.meshes.items():
        if mesh in second:
            found.add(mesh, [*labels, *second.meshes[mesh]])
        elif second.wildcard:
            found.add(mesh, [*labels, *second.wildcard])
    if first.wildcard:
        for mesh, labels in second.meshes.items():
            if mesh not in first:
                found.add(mesh, [*labels, *first.wildcard])
    if first.wildcard and second.wildcard:
        found.add(WILDCARD, [*first.wildcard, *second.wildcard])
    return found


def smallest(names: Collection[str]) -> str:
    """Return the bytewise smallest mesh name."""
    return min(names, key=str.encode)


def default_mesh(func: FuncOp) -> str:
    """Return the mesh of values of a function that nothing else places."""
    return smallest(mesh_names(func) or [""])


def op_set(op: Operation, name: str) -> MeshSet | None:
    """Return the use set or src set of an op, or None."""
    return MeshSet.read(op.attributes.get(name))


def argument_set(argument: BlockArgument, name: str) -> MeshSet | None:
    """Return a set of an argument of a function or a loop, or None."""
    return MeshSet.read(value_attribute(argument, name))


def write_argument_set(argument: BlockArgument, name: str, meshes: MeshSet | None) -> None:
    """Write a set of an argument of a function or a loop, or remove it."""
    op = argument.block.parent_op()
    assert op is not None  # functions and loops have the arguments
    update(op, ARG_ATTRS, argument.index, {name: None if meshes is None else meshes.attribute()})


def result_set(func: FuncOp, index: int) -> MeshSet | None:
    """Return the use set of a function result, or None."""
    return MeshSet.read(get(func, RES_ATTRS, index, USE_SET))


def write_result_set(func: FuncOp, index: int, meshes: MeshSet) -> None:
    """Write the use set of a function result."""
    update(func, RES_ATTRS, index, {USE_SET: meshes.attribute()})


def erase_sets(op: Operation) -> None:
    """Remove the sets of an op, and of its arguments and results."""
    for name in (USE_SET, SRC_SET):
        op.attributes.pop(name, None)
    remove_from_all(op, (USE_SET, SRC_SET))


def used_on(value: SSAValue, base: MeshSet | None = None) -> MeshSet | None:
    """Return the union of a set and the use sets of all users of a value, as far as they are known."""
    for use in value.uses:
        base = union(base, _use_set(use, value))
    return base


def _use_set(use: Use, value: SSAValue) -> MeshSet | None:
    user = use.operation
    is_barrier = isinstance(user, BroadcastOp | ReduceOp) and not isinstance(value.owner, BroadcastOp)
    if is_barrier or isinstance(user, UnassignOp):
        return None
    block = block_of(value)
    around = None if block is None else block.find_ancestor_op_in_block(user)
    if around is not None and around is not user:
        return op_set(around, USE_SET)
    match user:
        case CallOp():
            return argument_set(user.function.body.block.args[use.index], USE_SET)
        case ReturnOp():
            func = enclosing(user, FuncOp)
            return None if func is None or is_entry_point(func) else result_set(func, use.index)
        case ForOp():
            return argument_set(user.body.block.args[use.index], USE_SET)
        case _:
            return op_set(user, USE_SET)


def made_on(value: SSAValue) -> MeshSet | None:
    """Return the meshes on which a value can be made without a transfer; None for any.

    What a function or a loop returns stands for a result of a call or a loop.
    """
    while isinstance(value, OpResult) and isinstance(value.op, CallOp | ForOp):
        body = value.op.function.body if isinstance(value.op, CallOp) else value.op.body
        value = terminator_of(body).operands[value.index]
    if isinstance(value.owner, Block):
        assert isinstance(value, BlockArgument)
        is_known = isinstance(value.owner.parent_op(), FuncOp | ForOp)
        return argument_set(value, SRC_SET) if is_known else None
    return None if isinstance(value.owner, AssignOp) else op_set(value.owner, SRC_SET)
