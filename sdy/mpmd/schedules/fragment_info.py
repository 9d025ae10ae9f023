"""The facts of a fragment that rules name, and the text of rules. Source: docs/spec/08, 3.5.

FragmentMergeRule(sources=[FragmentInfo(origins=["f"],mesh_name="m")],target=FragmentInfo(origins=["f","g"(1)]))
FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["f"])->FragmentInfo(origins=["g"])])
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, NoReturn

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, span_at
from sdy.mpmd.dialect.attrs import UserOrigin


class SplitType(Enum):
    """The parts of a fragment that was split: what a transfer waits for, and the rest. The value is the keyword."""

    KEEP = "kKeepTransferred"
    DROP = "kDropTransferred"


class FragmentInfo(NamedTuple):
    """The identity of a fragment in rules. A fragment's origins are sorted; those of a rule are compared as written."""

    origins: tuple[UserOrigin, ...]
    stage: int | None = None
    call_counter: int | None = None
    split_type: SplitType | None = None
    mesh: str = ""

    def __str__(self) -> str:
        parts = [f"origins=[{','.join(map(str, self.origins))}]"]
        parts += [] if self.stage is None else [f"stage={self.stage}"]
        parts += [] if self.call_counter is None else [f"call_counter={self.call_counter}"]
        parts += [] if self.split_type is None else [f"split_type={self.split_type.value}"]
        return f'FragmentInfo({",".join(parts)},mesh_name="{self.mesh}")'


class MergeRule(NamedTuple):
    """Merge fragments, and give the result an info."""

    sources: tuple[FragmentInfo, ...]
    target: FragmentInfo

    def __str__(self) -> str:
        return f"FragmentMergeRule(sources=[{','.join(map(str, self.sources))}],target={self.target})"


class ScheduleRule(NamedTuple):
    """Run fragments in this order."""

    ordered: tuple[FragmentInfo, ...]

    def __str__(self) -> str:
        return f"FragmentScheduleRule(ordered_fragments=[{'->'.join(map(str, self.ordered))}])"


def parse_merge_rules(text: str) -> tuple[MergeRule, ...]:
    """Return the merge rules of a comma-separated list. Raises: SdyError SDY-M010."""
    reader = _Reader(text)
    rules: list[MergeRule] = []
    while not reader.at_end():
        reader.expect("FragmentMergeRule(sources=[")
        rules.append(MergeRule(reader.infos(",", "],target="), reader.info()))
        reader.expect(")")
        reader.end_of_rule()
    return tuple(rules)


def parse_schedule_rules(text: str) -> tuple[ScheduleRule, ...]:
    """Return the schedule rules of a comma-separated list. Raises: SdyError SDY-M010."""
    reader = _Reader(text)
    rules: list[ScheduleRule] = []
    while not reader.at_end():
        reader.expect("FragmentScheduleRule(ordered_fragments=[")
        rules.append(ScheduleRule(reader.infos("->", "])")))
        reader.end_of_rule()
    return tuple(rules)


_NAME = re.compile(r'[^"]*')
_INTEGER = re.compile(r"-?[0-9]+")
_FIELDS = ("stage", "call_counter", "split_type", "mesh_name")


class _Reader:
    """A reader of rules, which contain no blanks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def at_end(self) -> bool:
        """Return whether all text was read."""
        return self._position == len(self._text)

    def end_of_rule(self) -> None:
        """Read the comma before another rule."""
        if not self.at_end():
            self.expect(",")

    def accept(self, text: str) -> bool:
        """Read a text if it is there."""
        is_there = self._text.startswith(text, self._position)
        self._position += len(text) if is_there else 0
        return is_there

    def expect(self, text: str, expected: str | None = None) -> None:
        """Read a text that must be there."""
        if not self.accept(text):
            self._fail(f"expected {expected or repr(text)}")

    def infos(self, separator: str, end: str) -> tuple[FragmentInfo, ...]:
        """Read one or more infos with a text between them, and the text after them."""
        found = [self.info()]
        while not self.accept(end):
            self.expect(separator, f"{separator!r} or {end!r}")
            found.append(self.info())
        return tuple(found)

    def info(self) -> FragmentInfo:
        """Read `FragmentInfo(origins=["f"],stage=1,mesh_name="m")`."""
        self.expect("FragmentInfo(origins=[")
        origins: list[UserOrigin] = []
        while not self.accept("]"):
            origins.append(self._origin())
            if not self.accept(","):
                self.expect("]")
                break
        found: dict[str, int | SplitType | str] = {}
        while self.accept(","):
            name = next((each for each in _FIELDS if self.accept(f"{each}=")), None)
            if name is None:
                self._fail(f"expected one of {', '.join(_FIELDS)}")
            if name in found:
                self._fail(f"{name} is specified more than once")
            found[name] = self._field(name)
        self.expect(")")
        stage, counter, split, mesh = map(found.get, _FIELDS)
        return FragmentInfo(
            tuple(origins),
            stage if isinstance(stage, int) else None,
            counter if isinstance(counter, int) else None,
            split if isinstance(split, SplitType) else None,
            mesh if isinstance(mesh, str) else "",
        )

    def _origin(self) -> UserOrigin:
        name = self._quoted()
        if not self.accept("("):
            return UserOrigin(name)
        count = self._integer("a transpose count")
        self.expect(")")
        return UserOrigin(name, count)

    def _field(self, name: str) -> int | SplitType | str:
        if name == "mesh_name":
            return self._quoted()
        if name != "split_type":
            return self._integer(f"an integer as {name}")
        split = next((each for each in SplitType if self.accept(each.value)), None)
        return split or self._fail(f"expected {SplitType.KEEP.value} or {SplitType.DROP.value}")

    def _quoted(self) -> str:
        self.expect('"')
        name = self._match(_NAME)
        self.expect('"')
        return name

    def _integer(self, expected: str) -> int:
        digits = self._match(_INTEGER)
        return int(digits) if digits else self._fail(f"expected {expected}")

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._position)
        self._position = found.end() if found else self._position
        return found[0] if found else ""

    def _fail(self, message: str) -> NoReturn:
        hint = "rules contain no blanks"
        raise SdyError(Diagnostic("SDY-M010", message, span_at("<rules>", self._text, self._position), hint))
