"""Hints for a name that no dialect has: a similar name, or how to make its dialect known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sdy.diagnostics.wording import similar_name_hint

_SHORTEST = 3  # characters of an abbreviation such as `mul`
_MOST_LISTED = 10  # ops of a dialect
_OFTEN_MEANT = ("func", "stablehlo", "sdy")  # the dialects of a name without a prefix, in this order


def unknown_op_hint(
    name: str, default_dialect: str, known_names: Iterable[str], *, is_generic: bool, allows_unknown: bool
) -> str | None:
    """Return a hint for an unknown op, or None if its dialect has many ops and none with a similar name.

    A name without a prefix belongs to `default_dialect`. The prefix is not compared with the rest of the name, because
    all names of a dialect would be similar. `allows_unknown` says that ops of any dialect are accepted in generic form.

    >>> names = ["builtin.module", "stablehlo.multiply"]
    >>> unknown_op_hint("stablehlo.mul", "builtin", names, is_generic=False, allows_unknown=False)
    'did you mean stablehlo.multiply?'
    >>> unknown_op_hint("foo", "builtin", names, is_generic=False, allows_unknown=False)
    """
    names = list(known_names)
    ops = _ops_by_dialect(names)
    dialect, dot, op = name.partition(".")
    if dialect == "mhlo":
        return "write the program as StableHLO: mlir-hlo-opt --hlo-legalize-to-stablehlo, or HLO text, which is read"
    if not dot:
        return None if is_generic else _bare_name_hint(name, default_dialect, ops)
    if dialect in ops:
        few = f"the ops of {dialect}: {', '.join(sorted(ops[dialect]))}" if len(ops[dialect]) <= _MOST_LISTED else None
        return _similar_op_hint(op, dialect, ops[dialect]) or few
    similar = similar_name_hint(name, names) if similar_name_hint(dialect, ops) else None
    if similar is not None:
        return similar
    if is_generic:
        return f"load dialect {dialect} with --load, or pass --allow-unregistered-dialect"
    ending = "" if allows_unknown else " and pass --allow-unregistered-dialect"
    return f"load dialect {dialect} with --load, or write the generic form of the op{ending}"


def unknown_dialect_hint(name: str, known_names: Iterable[str]) -> str | None:
    """Return a hint for an unknown attribute or type, or None if its dialect is known."""
    dialect, _, _ = name.partition(".")
    if any(known.startswith(f"{dialect}.") for known in known_names):
        return None
    return f"load dialect {dialect} with --load, or pass --allow-unregistered-dialect"


def _ops_by_dialect(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    ops: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        dialect, _, op = name.partition(".")
        ops[dialect].append(op)
    return ops


def _bare_name_hint(name: str, default_dialect: str, ops: Mapping[str, Sequence[str]]) -> str | None:
    dialect = next((dialect for dialect in _OFTEN_MEANT if name in ops.get(dialect, ())), None)
    if dialect is not None:
        return f"did you mean {dialect}.{name}?"
    return _similar_op_hint(name, default_dialect, ops.get(default_dialect, ()))


def _similar_op_hint(op: str, dialect: str, names: Sequence[str]) -> str | None:
    """Return a hint for the op of a dialect that has the most similar name, or of which one name begins the other."""
    related = [name for name in names if min(len(name), len(op)) >= _SHORTEST and _is_beginning(name, op)]
    if related:
        return f"did you mean {dialect}.{min(related, key=len)}?"
    return similar_name_hint(op, names, f"{dialect}.")


def _is_beginning(name: str, other: str) -> bool:
    return name.startswith(other) or other.startswith(name)
