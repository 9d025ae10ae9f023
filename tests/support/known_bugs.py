"""The corpus of known bugs: programs on which partitioners were reported to fail, with the bounds that must hold.

The first lines of a file say what the program shows, where it was reported, and what must hold:

    // A roll by one along a sharded dim moves one row per device.
    // Reported: Reactant#1166, Reactant#1164
    // Sends at most 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "corpus" / "known_bugs"
PAGE = FOLDER.parent / "README.md"
HOMES = {
    "Enzyme-JAX": "EnzymeAD/Enzyme-JAX",
    "Reactant": "EnzymeAD/Reactant.jl",
    "jax": "jax-ml/jax",
    "llvm": "llvm/llvm-project",
    "pytorch": "pytorch/pytorch",
    "shardy": "openxla/shardy",
    "tt-mlir": "tenstorrent/tt-mlir",
    "tt-xla": "tenstorrent/tt-xla",
    "xla": "openxla/xla",
}
_REPORT = re.compile(r"([\w-]+)(#| PR )(\d+)")
_BYTES = re.compile(r"// Sends at most (\d+) bytes\.")
_ERROR = re.compile(r"// Fails with (SDY-\w+)\.")


@dataclass(frozen=True)
class KnownBug:
    """A program of the corpus: the most bytes that a device may send, or the code of the error that must be raised."""

    path: Path
    description: str
    reports: tuple[str, ...]
    most_bytes: int | None
    error: str | None

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""
        return self.path.stem


def known_bugs() -> list[KnownBug]:
    """Return the programs of the corpus in the order of their names."""
    return [_known_bug(path) for path in sorted(FOLDER.glob("*.mlir"))]


def _known_bug(path: Path) -> KnownBug:
    lines = path.read_text().splitlines()
    comments = lines[: next(index for index, line in enumerate(lines) if not line.startswith("//"))]
    text = "\n".join(comments)
    sent, error = _BYTES.search(text), _ERROR.search(text)
    assert (sent is None) != (error is None), f"{path} needs one bound"
    words = [line.removeprefix("// ") for line in comments if not _is_data(line)]
    reports = tuple("".join(found) for line in comments if "Reported:" in line for found in _REPORT.findall(line))
    return KnownBug(path, " ".join(words), reports, sent and int(sent[1]), error and error[1])


def _is_data(line: str) -> bool:
    return line.startswith(("// Reported:", "// Seen in several", "// Sends at most", "// Fails with"))


def link_to(report: str) -> str:
    """Return a report as a link in Markdown."""
    found = _REPORT.fullmatch(report)
    assert found is not None
    home, kind, number = found.groups()
    return f"[{report}](https://github.com/{HOMES[home]}/{'issues' if kind == '#' else 'pull'}/{number})"


def page(rows: Sequence[str]) -> str:
    """Return the page beside the programs with these rows of its table."""
    return f"""\
# Known bugs of partitioners

Programs on which partitioners were reported to compute a wrong value, to send more than they need, or to fail, each as
small as possible, in [known_bugs](known_bugs). The tests hold ours to the values of one
device, and to the bytes of the first column. The other columns are what XLA and Shardy of the supported JAX make of
the same program today, by `sdy compare`: many of the reports are of other versions or other projects.

The numbers are bytes that each device sends. *Fails*: the partitioner, or the program it makes, stops with an error.
*Not complete*: Shardy leaves an op to XLA that cannot run on shards. *No kernel*: XLA cannot compile the custom call.
`make corpus` writes this page anew.

| program | reported | sdy | XLA | Shardy |
|---|---|--:|--:|--:|
{chr(10).join(rows)}
"""
