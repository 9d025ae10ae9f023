"""The locations in a printed text, as MLIR prints them with debug information.

    #loc1 = loc("x")
    func.func @main(%arg0: tensor<8xf32> loc("x")) -> tensor<8xf32> {
      %0 = stablehlo.tanh %arg0 : tensor<8xf32> loc(#loc3)
    ...
    #loc2 = loc("train.py":20:4)
    #loc3 = loc("tanh"(#loc2))

Each location has an alias, numbered from inner to outer locations in order of first use. The aliases of arguments are
defined before the module, although arguments show their locations in full; all others follow the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation

NAMED_UNKNOWN = FusedLoc((), StringAttr("unknown"))  # `loc(unknown)`; where a text names no location, it is UnknownLoc
RANGE = UnknownLoc()  # the metadata of a fused location that is a range: its first and its last position


class ParsedLocations(NamedTuple):
    """The locations that a text names, by the line and the column where their op or argument begins; and aliases."""

    of_ops: dict[tuple[int, int], LocationAttr]
    of_arguments: dict[tuple[int, int], LocationAttr]
    aliases: Mapping[str, Attribute]

    def of_op(self, op: Operation) -> LocationAttr:
        """Return the location that the text names for the op that `op` comes from, or else its place in the text.

        An op that the text does not list, as in the short form of a reduction, has the location of the op around it.
        """
        location, around = op.location, op.parent_op()
        if not isinstance(location, FileLineColLoc):
            return UnknownLoc() if around is None else self.of_op(around)
        return self.resolved(self.of_ops.get(_position(location), location))

    def of_argument(self, argument: BlockArgument) -> LocationAttr:
        """Return the location that the text names for a block argument, or else its place in the text.

        An argument that the text does not list has the location of the op around it.
        """
        location, around = argument.location, argument.owner.parent_op()
        if not isinstance(location, FileLineColLoc):
            return UnknownLoc() if around is None else self.of_op(around)
        return self.resolved(self.of_arguments.get(_position(location), location))

    def name_of_argument(self, argument: BlockArgument) -> str:
        """Return the name that the text gives as location of an argument (`loc("params['up']")`), or an empty text."""
        location = argument.location
        named = self.of_arguments.get(_position(location)) if isinstance(location, FileLineColLoc) else None
        if isinstance(named, FusedLoc) and isinstance(named.metadata, StringAttr):
            named = self.aliases.get(named.metadata.data)
        return named.desc.data if isinstance(named, NameLoc) and isinstance(named.location, NoneAttr) else ""

    def resolved(self, location: Attribute) -> LocationAttr:
        """Return a location with its aliases replaced by what they stand for."""
        match location:
            case FusedLoc(locations=ArrayAttr(data=()), metadata=StringAttr(data=alias)) if alias in self.aliases:
                return self.resolved(self.aliases[alias])
            case FusedLoc(locations=ArrayAttr() as parts) if location != NAMED_UNKNOWN:
                return FusedLoc(tuple(map(self.resolved, parts)), location.metadata)
            case NameLoc() if not isinstance(location.location, NoneAttr):
                return NameLoc(location.desc, self.resolved(location.location))
            case CallSiteLoc():
                return CallSiteLoc(self.resolved(location.callee), self.resolved(location.caller))
            case CallSiteLoc() | FileLineColLoc() | NameLoc() | UnknownLoc():
                return location
            case _:
                return UnknownLoc()


def _position(location: FileLineColLoc) -> tuple[int, int]:
    return location.line.data, location.column.data


class LocationNames:
    """The aliases of the locations of one text. The text is printed twice: the first time, locations are collected.

    With `is_local`, locations get no aliases, and each one is printed in full where it is used.
    """

    def __init__(self, parsed: ParsedLocations, text_of: Callable[[Attribute], str], *, is_local: bool = False) -> None:
        self.parsed = parsed
        self._is_local = is_local
        self._text_of = text_of  # for attributes other than locations
        self._depths: dict[Attribute, int] = {}  # in order of first use
        self._early: set[Attribute] = set()
        self._names: dict[Attribute, str] = {}

    def collect(self, location: Attribute, *, is_early: bool = False) -> int:
        """Note a location and those in it; return its depth. Early ones are defined before the module."""
        self._depths.setdefault(location, 0)
        if is_early:
            self._early.add(location)
        depths = [self.collect(part, is_early=is_early) for part in _parts(location)]
        self._depths[location] = 1 + max(depths, default=-1)
        return self._depths[location]

    def number(self) -> None:
        """Number all locations."""
        for index, location in enumerate(sorted(self._depths, key=self._depths.__getitem__)):
            self._names[location] = f"#loc{index or ''}"

    def definitions(self, *, is_early: bool) -> Iterable[str]:
        """Yield the lines that define the aliases before or after the module."""
        for location, name in self._names.items():
            if not self._is_local and (location in self._early) == is_early:
                yield f"{name} = loc({self.text(location)})"

    def name(self, location: Attribute) -> str:
        """Return the alias of a location, or its text in a local scope; empty while locations are collected."""
        if self._is_local:
            return self.text(location)
        return self._names.get(location, "")

    def text(self, location: Attribute) -> str:
        """Return a location in full, with aliases of the locations in it."""
        match location:
            case FileLineColLoc():
                return f"{self._text_of(location.filename)}:{location.line.data}:{location.column.data}"
            case FusedLoc(locations=ArrayAttr(data=parts)):
                return self._range_text(*parts) if location.metadata == RANGE else self._fused_text(location, parts)
            case NameLoc():
                inner = f"({self.name(location.location)})" if _parts(location) else ""
                return self._text_of(location.desc) + inner
            case CallSiteLoc():
                return f"callsite({self.name(location.callee)} at {self.name(location.caller)})"
            case _:
                return "unknown"

    def _range_text(self, first: Attribute, last: Attribute) -> str:
        assert isinstance(first, FileLineColLoc)  # the parser makes no other ranges
        assert isinstance(last, FileLineColLoc)
        line = "" if first.line == last.line else str(last.line.data)
        return f"{self.text(first)} to {line}:{last.column.data}"

    def _fused_text(self, location: FusedLoc, parts: Iterable[Attribute]) -> str:
        metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{self._text_of(location.metadata)}>"
        return f"fused{metadata}[{', '.join(map(self.name, parts))}]"


def _parts(location: Attribute) -> tuple[Attribute, ...]:
    """Return the locations that a location consists of."""
    match location:
        case FusedLoc(locations=ArrayAttr() as parts):
            return () if location.metadata == RANGE else tuple(parts)
        case NameLoc():
            return () if isinstance(location.location, NoneAttr) else (location.location,)
        case CallSiteLoc():
            return location.callee, location.caller
        case _:
            return ()
