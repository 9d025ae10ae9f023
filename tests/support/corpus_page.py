"""Writes tests/corpus/README.md: what three partitioners make of the known bugs.

python -m support.corpus_page
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import sdy
from sdy.evidence.partitioners.compare import compare_partitioners
from sdy.evidence.partitioners.table import PartitionerResult
from support.known_bugs import PAGE, KnownBug, known_bugs, link_to, page


def main() -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        PAGE.write_text(page(list(pool.map(_row, known_bugs()))))


def _row(bug: KnownBug) -> str:
    link = f"[{bug.name}](known_bugs/{bug.name}.mlir): {bug.description}"
    reports = ", ".join(map(link_to, bug.reports)) or "several"
    if bug.error is not None:
        cells = [f"error {bug.error}", "", ""]
    else:
        cells = list(map(_cell, compare_partitioners(sdy.load(bug.path))))
    return f"| {link} | {reports} | {' | '.join(cells)} |"


def _cell(result: PartitionerResult) -> str:
    if result.statistics is None:
        if "No registered implementation" in result.problem:
            return "no kernel"
        return "not complete" if result.partitioner == "shardy" else "fails"
    wrong = any(not each.agrees for each in result.comparisons)
    return f"{result.statistics.bytes_sent:,.0f}" + (", wrong values" if wrong else "")


if __name__ == "__main__":
    main()
