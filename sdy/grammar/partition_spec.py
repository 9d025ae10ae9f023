"""Reader and writer of JAX's partition specs, such as `P('x', None, ('y', 'z'))`."""

from __future__ import annotations

import ast

from sdy.grammar.errors import NotationError
from sdy.grammar.parse import AXIS_REF
from sdy.model.axis import AxisList, AxisRef
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding

_NAMES = ("P", "PartitionSpec", "jax.P", "jax.sharding.PartitionSpec")
_HINT = "write a spec such as P('x', None, ('y', 'z'), unreduced={'w'})"


def write_partition_spec(sharding: TensorSharding) -> str:
    """Return the partition spec, with one entry per dim. An open dim without axes is `P.UNCONSTRAINED`.

    Sub-axes are written as in the sharding notation. Replicated axes, and whether a sharded dim is open, are lost.
    """
    entries = [_entry(dim) for dim in sharding.dims]
    if sharding.unreduced:
        entries.append(f"unreduced={{{', '.join(_quoted(ref) for ref in sharding.unreduced)}}}")
    return f"P({', '.join(entries)})"


def _entry(dim: DimSharding) -> str:
    match dim.axes:
        case ():
            return "None" if dim.is_closed else "P.UNCONSTRAINED"
        case (axis,):
            return _quoted(axis)
        case axes:
            return f"({', '.join(map(_quoted, axes))})"


def _quoted(ref: AxisRef) -> str:
    return repr(str(ref).replace('"', ""))


def read_partition_spec(text: str, mesh: Mesh) -> TensorSharding:
    """Return the sharding on `mesh`, closed except for `P.UNCONSTRAINED` dims.

    Raises: NotationError SDY-P111 if the text is not a partition spec.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise NotationError("SDY-P111", f"expected a partition spec: {error.msg}", 0, len(text), _HINT) from None
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) not in _NAMES:
        raise NotationError("SDY-P111", f"expected a partition spec, got {text.strip()!r}", 0, len(text), _HINT)
    unreduced: AxisList = ()
    for keyword in tree.keywords:
        if keyword.arg not in ("unreduced", "reduced"):
            raise _wrong(keyword, f"unknown keyword {keyword.arg} of a partition spec")
        unreduced += _axes(keyword.value) if keyword.arg == "unreduced" else ()
    return TensorSharding(mesh, tuple(map(_dim, tree.args)), unreduced=unreduced)


def _dim(entry: ast.expr) -> DimSharding:
    if isinstance(entry, ast.Attribute) and entry.attr == "UNCONSTRAINED":
        return DimSharding((), is_closed=False)
    return DimSharding(_axes(entry))


def _axes(entry: ast.expr) -> AxisList:
    match entry:
        case ast.Constant(value=None):
            return ()
        case ast.Constant(value=str(name)):
            return (_ref(entry, name),)
        case ast.Tuple(elts=entries) | ast.List(elts=entries) | ast.Set(elts=entries):
            return tuple(ref for each in entries for ref in _axes(each))
        case _:
            raise _wrong(entry, f"expected an axis, got {ast.unparse(entry)}")


def _ref(entry: ast.expr, name: str) -> AxisRef:
    axis, separator, sub_axis = name.partition(":")
    try:
        return AXIS_REF.read(f'"{axis}"{separator}{sub_axis}')
    except NotationError as error:
        raise _wrong(entry, f"expected an axis, got {name!r}: {error.message}") from None


def _wrong(entry: ast.expr | ast.keyword, message: str) -> NotationError:
    return NotationError("SDY-P111", message, entry.col_offset, entry.end_col_offset, _HINT)
