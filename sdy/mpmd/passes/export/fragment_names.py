"""The names of the functions that fragments become: `p3_block_2:5_fwd_calls0to3.main`. Source: docs/spec/08, 4.12."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sdy.mpmd.dialect.attrs import UserOrigin
from sdy.mpmd.dialect.regions import FragmentOp

MAX_LENGTH = 200
_ELLIPSIS = "<...>"
_COUNTED = re.compile(r"(.*)_(-?[0-9]+)", re.DOTALL)


def direction_word(transpose_count: int, *, other: str = "transpose{}") -> str:
    """Return the word for a transpose count."""
    return {0: "fwd", 1: "bwd"}.get(transpose_count, other.format(transpose_count))


def split_counter(name: str) -> tuple[str, int | None]:
    """Return the head of a name and the number after its last underscore: `block_12` is `block` and 12."""
    found = _COUNTED.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def origins_name(origins: Sequence[UserOrigin]) -> str:
    """Return a name for origins: the most frequent head, the range of its counters, and dots if there are others."""
    by_head: dict[str, set[int]] = {}
    frequency: dict[str, int] = {}
    for origin in origins:
        head, counter = split_counter(origin.name)
        by_head.setdefault(head, set()).update(() if counter is None else (counter,))
        frequency[head] = frequency.get(head, 0) + 1
    head = min(by_head, key=lambda each: (-frequency[each], each))
    counters = sorted(by_head[head])
    name = head
    if counters:
        if all(origin.transpose_count == 1 for origin in origins):
            counters.reverse()
        name += f"_{counters[0]}" if len(counters) == 1 else f"_{counters[0]}:{counters[-1]}"
    return name + ("..." if len(by_head) > 1 else "")


def fragment_name(fragment: FragmentOp, *, is_forward_only: bool) -> str:
    """Return a name for one fragment, with the directions of its origins unless the program has forward ones only."""
    origins = fragment.origins
    name = origins_name(origins) if origins else "inferred"
    if fragment.stage is not None:
        name = f"stage{fragment.stage}"
    counts = [] if is_forward_only else sorted({origin.transpose_count for origin in origins})
    return "_".join([name, *map(direction_word, counts)])


def group_name(group: Sequence[FragmentOp], *, is_forward_only: bool) -> str:
    """Return a name for the fragments that become one function, with their call counters if these are consecutive."""
    names = [fragment_name(fragment, is_forward_only=is_forward_only) for fragment in group]
    counters = [counter for fragment in group if (counter := fragment.call_counter) is not None]
    if len(counters) < len(group):
        return names[0]
    if len(group) == 1:
        return f"{names[0]}_call{counters[0]}"
    steps = {after - before for before, after in pairwise(counters)}
    if len(set(names)) > 1 or steps not in ({1}, {-1}):
        return names[0]
    return f"{names[0]}_calls{counters[0]}{'to' if steps == {1} else 'from'}{counters[-1]}"


def function_name(number: int, group: Sequence[FragmentOp], module_name: str, *, is_forward_only: bool) -> str:
    """Return the name of the function of a group of fragments."""
    name = f"p{number}_{group_name(group, is_forward_only=is_forward_only)}"
    if len(name) > MAX_LENGTH:
        name = name[: MAX_LENGTH - len(_ELLIPSIS)] + _ELLIPSIS
    return f"{name}.{module_name.removeprefix('jit_')}"
