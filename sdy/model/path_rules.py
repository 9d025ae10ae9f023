"""Paths of leaves of pytrees, patterns that match them, and the rules that a person would write for `sdy.shardings`.

    params.blocks.0.up  P('data', 'model')                 "*.up": P('data', 'model')
    params.blocks.1.up  P('data', 'model')       becomes   "*": P()
    opt.mu.blocks.0.up  P('data', 'model')
    params.norm         P()

The first rule that matches a path counts.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from itertools import combinations

# One key of a leaf in the names of JAX: ['up'], [0], [<flat index 0>]. Keys of attributes are `.mu` as in paths. A name
# precedes a key; at the start or after a dot, brackets are those of a pattern: `[pmv].*.up`.
_KEY = re.compile(r"""(?<=[^.])\[(?:<flat index (\d+)>|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([^\]]*))\]""")


def tree_path(name: str) -> str:
    """Return the path of a leaf by its name in JAX: `params.up.0` for `params['up'][0]`."""

    def key(found: re.Match[str]) -> str:
        return f".{literal_eval(found[2]) if found[2] else found[1] or found[3]}"

    return _KEY.sub(key, name)


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path, or its first keys. Keys are separated by dots or by slashes."""
    return _compiled(pattern.replace("/", ".")).match(path.replace("/", ".")) is not None


@lru_cache(8192)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(f"{translate(pattern)}|{translate(f'{pattern}.*')}")


def literal_pattern(path: str) -> str:
    """Return the pattern that matches a path itself, whatever characters it has."""
    return re.sub(r"([*?[])", r"[\1]", path)


REPLICATED = "P()"
OPEN = "None"  # in the place of a spec: the compiler chooses the sharding
_NUMBER = re.compile(r"\d+(?=[._/]|$)")  # of a layer: `blocks.3`, `layer_3`, `b3`


def path_rules(specs: Mapping[str, str], replicated: str = REPLICATED) -> dict[str, str]:
    """Return patterns of paths with specs; for each path of `specs`, the first that matches has the path's spec.

    The last pattern is `*`, for all leaves that are left: those with the spec `replicated`, or if there are none, those
    for which the rules are the fewest; then the fewest ones. Two paths never are equal up to `/` for `.`.
    """
    candidates, kinds = _candidates(specs), Counter(specs.values())
    defaults = [replicated] if replicated in kinds else sorted(kinds, key=kinds.__getitem__)
    found = [_rules_before(each, specs, candidates) | {"*": each} for each in defaults]
    return min(found, key=len) if found else {}


def _candidates(specs: Mapping[str, str]) -> dict[str, int]:
    """Return patterns that rules may have, each with the set of the paths that it matches, as bits.

    A pattern of whole subtrees is one only if all their leaves have the same spec.
    """
    patterns: dict[str, bool] = {}  # whether it ends with the last keys of a path
    for folded, paths in _by_folded(specs).items():
        _add_patterns(folded.split("."), patterns)
        if len({spec for path, spec in specs.items() if matches_path(folded, path)}) > 1:  # layers differ
            for path in paths:
                _add_patterns(literal_pattern(path).split("."), patterns)
    found: dict[str, int] = {}
    for pattern, is_of_leaf in patterns.items():
        matched = {index: spec for index, (path, spec) in enumerate(specs.items()) if matches_path(pattern, path)}
        if is_of_leaf or len(set(matched.values())) == 1:
            found[pattern] = sum(1 << index for index in matched)
    return found


def _by_folded(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return paths by their patterns in which numbers, such as those of layers, are wildcards."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_NUMBER.sub("*", literal_pattern(path)), []).append(path)
    return found


def _add_patterns(keys: Sequence[str], found: dict[str, bool]) -> None:
    """Add the patterns of consecutive keys: first ones, or others after any keys or after the first.

    The values are whether these are the last keys of some path.
    """
    for start, end in combinations(range(len(keys) + 1), 2):
        pattern = ".".join(keys[start:end])
        added = [f"*.{pattern}" if start else pattern, *([f"{keys[0]}.*.{pattern}"] if start > 1 else [])]
        found |= {each: found.get(each, False) or end == len(keys) for each in added}


def _rules_before(default: str, specs: Mapping[str, str], candidates: Mapping[str, int]) -> dict[str, str]:
    """Return the rules for the paths whose spec is not `default`: each covers as many paths as possible.

    Of two that cover as many, that one is better whose meaning does not depend on the rules before it.
    """
    of_spec: dict[str, int] = {}
    for index, spec in enumerate(specs.values()):
        of_spec[spec] = of_spec.get(spec, 0) | 1 << index
    left = (1 << len(specs)) - 1
    rules: dict[str, str] = {}
    while left & ~of_spec[default]:
        best: tuple[int, bool, int, int, str, str] | None = None
        for pattern, matched in candidates.items():
            new = matched & left
            spec = next((spec for spec, paths in of_spec.items() if new and not new & ~paths), default)
            if spec != default:
                is_ordered = bool(matched & ~of_spec[spec])
                rank = (-new.bit_count(), is_ordered, pattern.count("*"), len(pattern), pattern, spec)
                best = rank if best is None else min(best, rank)
        assert best is not None, "the path itself is a pattern"
        *_, pattern, rules[pattern] = best
        left &= ~candidates[pattern]
    return rules
