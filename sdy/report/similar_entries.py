"""Shortens the lists of a report: of entries that differ only in names and lines, as in equal layers, one is shown.

    line 38: %27 = stablehlo.dot_general                          line 38: %27 = stablehlo.dot_general
      dim 0 of operand 1 (%arg9) is sharded along "fsdp"            dim 0 of operand 1 (%arg9) is sharded along "fsdp"
    line 64: %48 = stablehlo.dot_general                            likewise at line 64
      dim 0 of operand 1 (%arg11) is sharded along "fsdp"

Lists of at most `MOST_ENTRIES` entries stay as they are. Of longer ones, no more than this number of groups is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")

MOST_ENTRIES = 60
SCREEN = 58  # lines, without the first and the last one
# The name of a value, a line, or the index of a layer in the name of a parameter: params['layers'][3]['up'].
_LAYER = re.compile(r"(?<=[./_\[])\d+(?=[./)\]]|$)")
_NAME_OR_LINE = re.compile(r"%[\w$.-]+(?:[:#]\d+)?|\bline \d+|\.py:\d+|\[\d+\]")


def without_names(text: str) -> str:
    """Return a text in which every name of a value and every line has been replaced by the same placeholder."""
    return _NAME_OR_LINE.sub("%", text)


def folded_layers(names: Sequence[str]) -> list[str]:
    """Return different names, with `*` for the numbers of layers in which some differ.

    >>> folded_layers(["t.py:7 in blocks.0/mlp", "t.py:7 in blocks.1/mlp", "params['head'][0]"])
    ['t.py:7 in blocks.*/mlp', "params['head'][0]"]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_LAYER.sub("*", name), []).append(name)
    return [folded if len(group) > 1 else group[0] for folded, group in groups.items()]


def groups_of_similar(
    entries: Sequence[T], key: Callable[[T], Hashable], *, verbose: bool = False, most: int = MOST_ENTRIES
) -> list[list[T]]:
    """Return the groups of entries with equal keys, in the order of their first entries.

    Each entry of a list of at most `most` entries is a group of its own, and if `verbose`, each entry of any list.
    """
    if verbose or len(entries) <= most:
        return [[entry] for entry in entries]
    groups: dict[Hashable, list[T]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return list(groups.values())


def on_one_screen(texts: Sequence[str], *, verbose: bool = False) -> list[str]:
    """Return the first texts, which have several lines each, that fit on one screen, and a line about the others.

    There is at least one, and if `verbose`, all are returned.
    """
    shown, lines = list[str](), 0
    for text in texts:
        lines += text.count("\n") + 1
        if shown and lines > SCREEN and not verbose:
            return [*shown, rest_text(len(texts) - len(shown))]
        shown.append(text)
    return shown


def rest_text(count: int) -> str:
    """Return the line after the first entries of a list of which `count` are left out."""
    return f"... and {count:,} more; -v lists all"
