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
from collections.abc import Iterable, Iterator, Mapping
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
    of_spec: dict[str, int] = {}
    for index, spec in enumerate(specs.values()):
        of_spec[spec] = of_spec.get(spec, 0) | 1 << index
    candidates = _candidates(specs, of_spec)
    defaults = [replicated] if replicated in of_spec else sorted(of_spec, key=lambda spec: of_spec[spec].bit_count())
    found = [_rules_before(each, of_spec, candidates) | {"*": each} for each in defaults]
    return min(found, key=len) if found else {}


def _candidates(specs: Mapping[str, str], of_spec: Mapping[str, int]) -> dict[str, int]:
    """Return patterns that rules may have, each with the set of the paths that it matches, as bits.

    `of_spec` has the paths with each spec. A pattern of whole subtrees is one only if all their leaves have one spec.
    """
    literal: dict[str, int] = {}  # the matches of patterns whose keys are those of paths
    for index, path in enumerate(specs):
        for pattern, _ in _patterns_of(literal_pattern(path).replace("/", ".")):
            literal[pattern] = literal.get(pattern, 0) | 1 << index

    def matched_by(pattern: str) -> int:
        known = literal.get(pattern.replace("/", "."))
        if known is not None:
            return known
        return sum(1 << index for index, path in enumerate(specs) if matches_path(pattern, path))

    def is_of_one_spec(matched: int) -> bool:
        return any(not matched & ~paths for paths in of_spec.values())

    patterns: dict[str, bool] = {}  # whether it ends with the last keys of a path
    for folded, paths in _by_folded(specs).items():
        differ = not is_of_one_spec(matched_by(folded))  # layers
        for path in (folded, *(map(literal_pattern, paths) if differ else ())):
            for pattern, is_of_leaf in _patterns_of(path):
                patterns[pattern] = patterns.get(pattern, False) or is_of_leaf
    matches = {pattern: matched_by(pattern) for pattern in patterns if pattern != "*"}  # which is the last rule
    return {each: found for each, found in matches.items() if patterns[each] or is_of_one_spec(found)}


def _by_folded(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return paths by their patterns in which numbers, such as those of layers, are wildcards."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_NUMBER.sub("*", literal_pattern(path)), []).append(path)
    return found


def _patterns_of(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the patterns of consecutive keys of a path: first ones, or others after any keys or after the first.

    With each goes whether these are the last keys.
    """
    keys = path.split(".")
    for start, end in combinations(range(len(keys) + 1), 2):
        pattern, is_of_leaf = ".".join(keys[start:end]), end == len(keys)
        yield f"*.{pattern}" if start else pattern, is_of_leaf
        if start > 1:
            yield f"{keys[0]}.*.{pattern}", is_of_leaf


_Rank = tuple[int, bool, int, int, str, str]  # the last two are the pattern and the spec


def _rules_before(default: str, of_spec: Mapping[str, int], candidates: Mapping[str, int]) -> dict[str, str]:
    """Return the rules for the paths whose spec is not `default`: each covers as many paths as possible.

    Where paths with the default spec begin with all keys of another one, they have rules before that of the other.
    """
    usual, others = of_spec[default], {spec: paths for spec, paths in of_spec.items() if spec != default}
    left = sum(of_spec.values())
    rules: dict[str, str] = {}
    while left & ~usual:
        best = _best_rule(candidates, left, others)
        if best is None:
            matches = [matched & left for matched in candidates.values()]
            unusual = [
                found
                for found in matches
                if any(found & paths and not found & ~(paths | usual) for paths in others.values())
            ]
            fewest = min((found & usual for found in unusual), key=int.bit_count)
            best = _best_rule(
                {each: found for each, found in candidates.items() if found & fewest}, left, {default: usual}
            )
        assert best is not None, "the path itself is a pattern"
        *_, pattern, rules[pattern] = best
        left &= ~candidates[pattern]
    return rules


def _best_rule(candidates: Mapping[str, int], left: int, of_spec: Mapping[str, int]) -> _Rank | None:
    """Return the pattern that covers most of the paths that are left, if all that it matches have one of these specs.

    Of two that cover as many, that one is better whose meaning does not depend on the rules before it.
    """
    best: _Rank | None = None
    for pattern, matched in candidates.items():
        new = matched & left
        if not new or (best is not None and new.bit_count() < -best[0]):
            continue
        spec = next((spec for spec, paths in of_spec.items() if not new & ~paths), None)
        if spec is not None:
            is_ordered = bool(matched & ~of_spec[spec])
            rank = (-new.bit_count(), is_ordered, pattern.count("*"), len(pattern), pattern, spec)
            best = rank if best is None else min(best, rank)
    return best
