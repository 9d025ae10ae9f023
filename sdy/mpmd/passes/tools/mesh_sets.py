"""Sets of meshes on which a value is needed or can be made, with the reasons. Source: docs/spec/07, 4.14.

A set without specified meshes is None. The wildcard `*` stands for any other mesh.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from xdsl.ir import Attribute

from sdy.mpmd.dialect.attrs import MeshesWithOriginsAttr, MeshWithOrigins
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

    def preferred(self, names: Iterable[str] = ()) -> str | None:
        """Return the mesh to choose, of those in `names` if the set has any of them; None if the set is empty."""
        if not self.meshes:
            return None
        candidates = {name: self.meshes.get(name, self.wildcard) for name in names if name in self or self.wildcard}
        candidates = candidates or self.meshes
        likely = [name for name, labels in candidates.items() if LOW_PRIORITY not in labels]
        return min(likely or candidates, key=str.encode)

    def __contains__(self, mesh: str) -> bool:
        return mesh in self.meshes

    def __bool__(self) -> bool:
        return bool(self.meshes)

    def __str__(self) -> str:
        return ", ".join(f"{mesh}[{','.join(labels)}]" for mesh, labels in self.meshes.items())


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
