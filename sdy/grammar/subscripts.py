"""Reader and writer of the subscript notation of textbooks, such as `A[I_X, J_{YZ}] {U_Z}`."""

from __future__ import annotations

import re

from sdy.grammar.errors import NotationError
from sdy.grammar.parse import AXIS_REF
from sdy.model.axis import AxisList, AxisRef
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import closed_on

_AXES = r"(?:\{(?P<many>[^}]*)\}|(?P<one>\w+))"
_TEXT = re.compile(r"\s*\w*\s*\[(?P<dims>.*?)\]\s*(?:\{\s*U_(?P<unreduced>\{[^}]*\}|\w+)\s*\})?\s*")
_DIM = re.compile(rf"\s*[A-Za-z0-9]+(?:_{_AXES})?\s*")
_SUBSCRIPT = re.compile(_AXES)
_HINT = "write A[I_X, J_{YZ}] {U_W}; separate names of several letters by commas: J_{data,model}"
_LETTERS = "IJKLMNOPQRSTUVW"


def write_subscripts(sharding: TensorSharding) -> str:
    """Return the text. Axes of one letter are text in capitals side by side, others with commas between them."""
    dims = ", ".join(f"{_letter(index)}{_subscript(dim)}" for index, dim in enumerate(sharding.dims))
    unreduced = f" {{U{_subscript(DimSharding(sharding.unreduced))}}}" if sharding.unreduced else ""
    return f"A[{dims}]{unreduced}"


def _letter(index: int) -> str:
    return _LETTERS[index] if index < len(_LETTERS) else f"D{index}"


def _subscript(dim: DimSharding) -> str:
    names = [str(ref).replace('"', "") for ref in dim.axes]
    if all(len(name) == 1 for name in names):
        joined = "".join(names).upper()
        return f"_{joined}" if len(names) == 1 else f"_{{{joined}}}" if names else ""
    return f"_{{{','.join(names)}}}"


def read_subscripts(text: str, mesh: Mesh) -> TensorSharding:
    """Return the sharding on `mesh`, whose axes may be text in capitals.

    Raises: NotationError SDY-P111 if the text does not follow the notation.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NotationError("SDY-P111", f"expected dims in brackets, got {text.strip()!r}", 0, len(text), _HINT)
    dims: list[AxisList] = []
    start = match.start("dims")
    for dim_text in re.split(r",(?![^{]*\})", match["dims"]) if match["dims"].strip() else ():
        dim, end = _DIM.fullmatch(dim_text), start + len(dim_text)
        if dim is None:
            raise NotationError(
                "SDY-P111", f"expected a dim with a subscript, got {dim_text.strip()!r}", start, end, _HINT
            )
        dims.append(_axes(dim, mesh, start, end))
        start = end + 1
    unreduced: AxisList = ()
    if match["unreduced"]:
        subscript = _SUBSCRIPT.fullmatch(match["unreduced"])
        assert subscript is not None  # `_TEXT` matches the same pattern
        unreduced = _axes(subscript, mesh, *match.span("unreduced"))
    return closed_on(mesh, dims, unreduced)


def _axes(subscript: re.Match[str], mesh: Mesh, start: int, end: int) -> AxisList:
    text = (subscript["many"] or subscript["one"] or "").strip()
    if "," in text or _axis_name(text, mesh):
        names = [name.strip() for name in text.split(",")]
    else:
        names = [text] if ":" in text else list(text)
    try:
        return tuple(_ref(name, mesh) for name in names)
    except NotationError as error:
        raise NotationError(error.code, error.message, start, end, error.hint) from None


def _axis_name(name: str, mesh: Mesh) -> str | None:
    """Return the mesh axis of this name, ignoring case; None if there is none. An exact match takes precedence."""
    names = [axis.name for axis in mesh.axes]
    return name if name in names else next((other for other in names if other.upper() == name.upper()), None)


def _ref(name: str, mesh: Mesh) -> AxisRef:
    axis, separator, sub_axis = name.partition(":")
    known = _axis_name(axis, mesh)
    if known is None:
        hint = f"axes of the mesh: {', '.join(each.name for each in mesh.axes)}; {_HINT}"
        raise NotationError("SDY-P111", f"the mesh has no axis {axis}", 0, 0, hint)
    return AXIS_REF.read(f'"{known}"{separator}{sub_axis}')
