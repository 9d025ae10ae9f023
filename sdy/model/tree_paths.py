"""Paths of leaves of pytrees, and patterns that match them: `params.layers.0.kernel`, `*.kernel`."""

from __future__ import annotations

import re
from ast import literal_eval
from fnmatch import translate
from functools import lru_cache

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
