"""The settings of the linter, and the table of pyproject.toml that may hold them.

[tool.sdy.lint]
select = ["SDY-S4"]
ignore = ["SDY-S412"]
on = "h100"
trials = 40
time-limit = 5
keep-boundary = true
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import cast

from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.diagnostics.toml_tables import (
    Reader,
    Table,
    WrongEntryError,
    boolean_value,
    count_value,
    file_text,
    nearest_pyproject,
    positive_number,
    read_table,
    read_toml,
    text_value,
)


@dataclass(frozen=True, slots=True)
class LintSettings:
    """The rules to run, the machine of the costs, and the number of trials; None for a default that fits the program.

    After `time_limit` seconds, no fix is tried. With `shows_small`, findings are reported that cost less than 1 µs, and
    less bytes and memory than 1 % of those of the program, or than the machine sends and writes in 1 µs. With
    `keeps_boundary`, fixes leave the shardings of the program's arguments and results as they are.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    on: str = DEFAULT_MACHINE
    trials: int | None = None
    shows_small: bool = False
    keeps_boundary: bool = False
    time_limit: float | None = None

    def end(self) -> float:
        """Return when the time is up that begins now, as a time of `monotonic`."""
        return inf if self.time_limit is None else monotonic() + self.time_limit

    def until(self, end: float) -> LintSettings:
        """Return the settings with what is left of the time until `end`, a time of `monotonic`."""
        return self if self.time_limit is None else replace(self, time_limit=max(0.0, end - monotonic()))


def read_settings(text: str, file_name: str) -> LintSettings:
    """Return the settings in the table `tool.sdy.lint` of a pyproject.toml; the defaults if it has no such table.

    Raises: SdyError SDY-T240 if the text is not TOML, or if a key or a value is not one of the settings.
    """
    found = read_toml(text, file_name, "SDY-T240", lambda table: read_table(_lint_table(table), _READERS))
    for key, field in (("keep-boundary", "keeps_boundary"), ("time-limit", "time_limit")):
        if key in found:
            found[field] = found.pop(key)
    return LintSettings(**found)  # pyright: ignore[reportArgumentType] -- the readers return the types of the fields


def nearest_settings(folder: Path) -> LintSettings:
    """Return the settings of the pyproject.toml in a folder, or in the nearest one around it that has one.

    Raises: SdyError SDY-T001 if it cannot be read; as `read_settings`.
    """
    path = nearest_pyproject(folder)
    return LintSettings() if path is None else read_settings(file_text(str(path), "SDY-T001"), str(path))


def _lint_table(table: Table) -> Table:
    for key in ("tool", "sdy", "lint"):
        found = table.get(key, {})
        if not isinstance(found, dict):
            raise WrongEntryError((key,), f"expected a table [tool.sdy.lint], got {key} = {found!r}")
        table = cast("dict[str, object]", found)
    return table


def _codes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of codes, got {value!r}")
    return tuple(map(text_value, cast("list[object]", value)))


_READERS: dict[str, Reader] = {
    "select": _codes,
    "ignore": _codes,
    "on": text_value,
    "trials": count_value,
    "time-limit": positive_number,
    "keep-boundary": boolean_value,
}
