"""The lines of the program that a text was generated from, as the locations in the text name them.

%0 = stablehlo.tanh %a : tensor<8xf32> loc(callsite("model"("train.py":20:4) at "train.py":31:0))      train.py:20
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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


def source_line_in_text(text: str, line: int) -> str:
    """Return the innermost line (`train.py:20`) of the location at the end of a line of a text that is not parsed.

    The text is empty if the line ends in no location that has one.
    """
    lines = text.splitlines()
    found = re.search(_LOCATION, lines[line - 1]) if 0 < line <= len(lines) else None
    return "" if found is None else next(_places(found[1], dict(re.findall(_DEFINITION, text))), "")


def _places(location: str, aliases: Mapping[str, str]) -> Iterator[str]:
    for file, line, alias in re.findall(_PLACE, location):
        if not alias:
            yield f"{PurePath(file).name}:{line}"
        elif alias in aliases:
            yield from _places(aliases[alias], {name: text for name, text in aliases.items() if name != alias})


def alias_location(name: str) -> FusedLoc:
    """Return the placeholder of a location alias such as `#loc7`, which the text defines after its uses."""
    return FusedLoc((), StringAttr(name))


def source_line(location: LocationAttr, aliases: Mapping[str, Attribute]) -> str:
    """Return the innermost line of a location (`train.py:20`), or an empty text if it has none."""
    return next(_lines(location, aliases), "")


def source_lines(parsed: ParsedLocations) -> dict[int, str]:
    """Return the line of the program that each line of a text was generated from: `{7: "train.py:20"}`."""
    found: dict[int, str] = {}
    for (line, _), location in parsed.of_ops.items():
        source = source_line(location, parsed.aliases)
        if source:
            found.setdefault(line, source)
    return found


def _lines(location: Attribute, aliases: Mapping[str, Attribute]) -> Iterator[str]:
    """Yield the lines of a location, callees before their callers."""
    match location:
        case FileLineColLoc():
            yield f"{PurePath(location.filename.data).name}:{location.line.data}"
        case NameLoc():
            yield from _lines(location.location, aliases)
        case CallSiteLoc():
            yield from _lines(location.callee, aliases)
            yield from _lines(location.caller, aliases)
        case FusedLoc(metadata=StringAttr(data=alias)) if alias in aliases:
            yield from _lines(aliases[alias], {name: value for name, value in aliases.items() if name != alias})
        case FusedLoc(locations=ArrayAttr() as parts):
            for part in parts:
                yield from _lines(part, aliases)
        case _:
            return
