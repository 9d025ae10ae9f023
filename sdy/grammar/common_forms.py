"""The texts of meshes and shardings as they are printed, read without Lark.

Importing Lark and building the tables of the grammar takes as long as reading a thousand lines, and most programs have
no other texts. Each function returns None for a text in another form, which only the grammar reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sdy.model.axis import AxisList, AxisRef, SubAxis
from sdy.model.checks.check_mesh import check_mesh
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding

_NAME = r'"[A-Za-z0-9_.]+"'
_INT = r"(?:[1-9][0-9]{0,8})"
_REF = rf"{_NAME}(?::\({_INT}\){_INT})?"


def _listed(item: str) -> str:
    """Return a pattern of items with commas between them."""
    return rf"{item}(?:, {item})*"


_AXES = rf"\{{{_listed(_REF)}\}}"
_DIM = rf"\{{(?:{_listed(_REF)}(?:, \?)?|\?)?\}}(?:p(?:0|{_INT}))?"
_SHARDING = (
    rf"<@(?P<mesh>[A-Za-z_][A-Za-z0-9_$.]*), \[(?P<dims>(?:{_listed(_DIM)})?)\]"
    rf"(?:, replicated=(?P<replicated>{_AXES}))?(?:, unreduced=(?P<unreduced>{_AXES}))?>"
)
_mesh = re.compile(rf"<\[{_listed(f'{_NAME}={_INT}')}\]>")
_mesh_axes = re.compile(rf'"([^"]+)"=({_INT})')
_sharding = re.compile(_SHARDING)
_dims = re.compile(r"\{([^{}]*)\}(?:p([0-9]+))?")
_refs = re.compile(rf'"([^"]+)"(?::\(({_INT})\)({_INT}))?')


def mesh(text: str) -> Mesh | None:
    """Read `<["x"=2, "y"=4]>`."""
    if _mesh.fullmatch(text) is None:
        return None
    axes = tuple(MeshAxis(name, int(size)) for name, size in _mesh_axes.findall(text))
    return Mesh(axes) if check_mesh(axes, ()) is None else None


def tensor_sharding(text: str) -> TensorSharding | None:
    """Read `<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}, unreduced={"w"}>`."""
    match = _sharding.fullmatch(text)
    return None if match is None else _built(match)


def sharding_per_value(text: str) -> tuple[TensorSharding, ...] | None:
    """Read `<[<@mesh, [{"x"}, {}]>, <@mesh, [{}]>]>`."""
    if text == "<[]>":
        return ()
    if not text.startswith("<["):
        return None
    found: list[TensorSharding] = []
    match = _sharding.match(text, len("<["))
    while match is not None:
        found.append(_built(match))
        end = match.end()
        if text[end:] == "]>":
            return tuple(found)
        match = _sharding.match(text, end + len(", ")) if text.startswith(", ", end) else None
    return None


def _built(match: re.Match[str]) -> TensorSharding:
    dims = tuple(
        DimSharding(_axes(inside), not inside.endswith("?"), int(priority) if priority else None)
        for inside, priority in _dims.findall(match["dims"])
    )
    return TensorSharding(match["mesh"], dims, _axes(match["replicated"]), _axes(match["unreduced"]))


def _axes(text: str | None) -> AxisList:
    return tuple(
        AxisRef(name, SubAxis(int(pre_size), int(size)) if size else None)
        for name, pre_size, size in _refs.findall(text or "")
    )


Aliases = Callable[[str], object]  # the value of `#name`; None if it is not defined


def no_aliases(_: str) -> None:
    """Define no aliases: the `Aliases` of a text outside of a module."""
