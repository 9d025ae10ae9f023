"""The rows of a folder of published measurements."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One measurement: the cells of a row by column, and the file that it is from."""

    file: str
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column) or ""

    def count(self, column: str, default: int = 1) -> int:
        """Return a whole number, which may be written as `8,192` or `8.0`; `default` if the cell is empty."""
        text = self[column].replace(",", "").strip()
        return int(float(text)) if text else default

    @property
    def seconds(self) -> float:
        """The measured seconds. Raises: ValueError if the cell does not hold a number."""
        return float(self["step_seconds"] or self["seconds"])

    @property
    def pod_shape(self) -> tuple[int, ...]:
        """The chips of a pod along each axis of its torus; empty for machines with switches."""
        shape = re.search(r"\b\d+(?:x\d+)+\b", self["topology"])
        return tuple(map(int, shape[0].split("x"))) if shape and self["machine"].startswith("tpu") else ()

    @property
    def pods(self) -> int:
        """The number of pods that a slow network connects."""
        pods = re.match(r"(\d+) pods", self["topology"])
        return int(pods[1]) if pods else 1


def published_rows(folder: Path, file: str) -> Iterator[Row]:
    """Yield the rows of a file that have a time; none if the folder lacks the file."""
    path = folder / file
    if path.exists():
        with path.open(encoding="utf-8", newline="") as text:
            for cells in csv.DictReader(text):
                if cells.get("step_seconds") or cells.get("seconds"):
                    yield Row(file, cells)
