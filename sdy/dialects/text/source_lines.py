"""The lines and the scopes of the program that a text was generated from, as the locations in the text name them.

loc("jit(step)/jvp(blocks.0)/mlp/tanh"(callsite("model"("train.py":20:4) at "train.py":31:0)))      train.py:20
                                                                                                    blocks.0/mlp
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePath

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute

from sdy.dialects.text.debug_locations import ParsedLocations

# Compiled on first use, for the errors of a text with locations.
_LOCATION = r"loc\((.*)\)\s*$"
_DEFINITION = r"(?m)^(#\w+) = loc\((.*)\)\s*$"
_PLACE = r'"([^"]*)":(\d+):\d+|(#\w+)'
_INSTALLED = {"site-packages", "dist-packages"}  # folders of libraries
# What JAX puts into the name of an op for its own control flow, and for functions that are jitted inside.
_NO_SCOPE = re.compile(
    r"(while|body|cond|scan|closed_call|core_call|eval_jaxpr|checkpoint|remat2?|custom_[jv][vm]p_call(_jaxpr)?"
    r"|branch_\d+_fun|p?jit|shard_map)?"
)
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")


def source_line_in_text(text: str, line: int) -> str:
    """Return the innermost line (`train.py:20`) of the location at the end of a line of a text that is not parsed.

    The text is empty if the line ends in no location that has one.
    """
    lines = text.splitlines()
    found = re.search(_LOCATION, lines[line - 1]) if 0 < line <= len(lines) else None
    return "" if found is None else line_of_user(_places(found[1], dict(re.findall(_DEFINITION, text))))


def _places(location: str, aliases: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for file, line, alias in re.findall(_PLACE, location):
        if not alias:
            yield file, int(line)
        elif alias in aliases:
            yield from _places(aliases[alias], {name: text for name, text in aliases.items() if name != alias})


def alias_location(name: str) -> FusedLoc:
    """Return the placeholder of a location alias such as `#loc7`, which the text defines after its uses."""
    return FusedLoc((), StringAttr(name))


def source_lines(parsed: ParsedLocations) -> dict[int, str]:
    """Return the line of the program that each line of a text was generated from: `{7: "train.py:20"}`."""
    return _by_line(parsed, lambda location: line_of_user(_calls(location, parsed.aliases)))


def scopes(parsed: ParsedLocations) -> dict[int, str]:
    """Return the scope in which each line of a text was traced: `{7: "blocks.0/mlp"}`."""
    return _by_line(parsed, lambda location: scope_of_name(_name(location, parsed.aliases)))


def _by_line(parsed: ParsedLocations, read: Callable[[LocationAttr], str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for (line, _), location in parsed.of_ops.items():
        text = read(location)
        if text:
            found.setdefault(line, text)
    return found


def line_of_user(
    calls: Iterable[tuple[str, int]], name: Callable[[str], str] = lambda path: PurePath(path).name
) -> str:
    """Return the innermost of some calls (`train.py:20`) that is not in an installed library, or the innermost of all.

    The calls are paths and line numbers, callees before their callers; `name` shortens a path. The text is empty if
    there are none.
    """
    known = list(calls)
    innermost = next((call for call in known if not _is_installed(call[0])), known[0] if known else None)
    return "" if innermost is None else f"{name(innermost[0])}:{innermost[1]}"


@cache
def _is_installed(path: str) -> bool:
    return bool(_INSTALLED.intersection(PurePath(path).parts))


@cache
def scope_of_name(name: str) -> str:
    """Return the scope in the name that JAX gives to an op.

    `jit(step)/transpose(jvp(blocks.0))/mlp/dot_general` is in `transpose(blocks.0/mlp)`, and an op that is computed
    again in the backward pass in `recompute(blocks.0/mlp)`. The scope of `jit(step)/transpose(jvp())/mul` is
    `transpose`, and that of a name without any is empty.
    """
    *path, _ = _split(name)
    parts = list[str]()
    marks = set[str]()
    for element in path:
        for part in _without_transforms(element, marks):
            parts.append(part)
            # JAX names the scopes around a checkpointed function twice.
            parts = next((parts[:-size] for size in _sizes(parts) if parts[-size:] == parts[-2 * size : -size]), parts)
    mark = next((each for each in ("recompute", "transpose") if each in marks), "")
    scope = "/".join(parts)
    return f"{mark}({scope})" if mark and scope else mark or scope


def _without_transforms(element: str, marks: set[str]) -> Iterator[str]:
    """Yield the scopes in an element of the name of an op; add those of its transforms to `marks` that are shown."""
    if element == "rematted_computation":
        marks.add("recompute")
    elif element in ("transpose", "recompute"):
        marks.add(element)
    elif transform := _TRANSFORM.fullmatch(element):
        marks.add(transform[1])
        if transform[1] not in ("jit", "pjit"):
            for part in _split(transform[2]):
                yield from _without_transforms(part, marks)
    elif not _NO_SCOPE.fullmatch(element):
        yield element


def _sizes(parts: Sequence[str]) -> range:
    return range(1, len(parts) // 2 + 1)


def _split(name: str) -> list[str]:
    """Split the name of an op at the slashes that are not in parentheses."""
    parts, depth = [""], 0
    for character in name:
        depth += (character == "(") - (character == ")")
        if character == "/" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _name(location: Attribute, aliases: Mapping[str, Attribute]) -> str:
    """Return the outermost name of a location; empty if it has none."""
    match location:
        case NameLoc():
            return location.desc.data
        case FusedLoc(metadata=StringAttr(data=alias)) if alias in aliases:
            return _name(aliases[alias], {name: value for name, value in aliases.items() if name != alias})
        case _:
            return ""


def _calls(location: Attribute, aliases: Mapping[str, Attribute]) -> Iterator[tuple[str, int]]:
    """Yield the files and lines of a location, callees before their callers."""
    match location:
        case FileLineColLoc():
            yield location.filename.data, location.line.data
        case NameLoc():
            yield from _calls(location.location, aliases)
        case CallSiteLoc():
            yield from _calls(location.callee, aliases)
            yield from _calls(location.caller, aliases)
        case FusedLoc(metadata=StringAttr(data=alias)) if alias in aliases:
            yield from _calls(aliases[alias], {name: value for name, value in aliases.items() if name != alias})
        case FusedLoc(locations=ArrayAttr() as parts):
            for part in parts:
                yield from _calls(part, aliases)
        case _:
            return
