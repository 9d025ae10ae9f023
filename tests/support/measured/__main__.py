"""The errors of the predicted times of a folder of measurements: `python -m support.measured FOLDER`."""

from __future__ import annotations

import gc
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import jax

from support.measured.errors import error_table
from support.measured.page import written_page
from support.measured.pricing import NoProgramError, Priced, priced
from support.measured.published import published_rows

FILES = ("collectives.csv", "rooflines.csv", "steps.csv")


def main(arguments: Sequence[str]) -> int:
    """Price the rows of a folder, print the table of errors, and write the page if asked to."""
    parser = ArgumentParser(prog="support.measured", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with collectives.csv, rooflines.csv and steps.csv")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also write the page of errors, docs/measured.md")
    parser.add_argument("--rows", action="store_true", help="print each row")
    parser.add_argument("--only", default="", help="price only rows whose id or file contains this text")
    chosen = parser.parse_args(arguments)
    found: list[Priced] = []
    missing: Counter[str] = Counter()
    for file in FILES:
        for row in published_rows(chosen.folder, file):
            if chosen.only not in row["id"] + " " + file:
                continue
            try:
                each = priced(row)
            except NoProgramError as error:
                missing[str(error)] += 1
                print(f"{row['id']}: {error}")
                continue
            found.append(each)
            if chosen.rows:
                print(f"{row['id']:60}{row['confidence']:8}{row.seconds:12.4g}{each.seconds:12.4g}{each.error:+8.1%}")
    print(error_table(found))
    print(f"{missing.total()} rows have no time; {process_time():.0f} s of CPU")
    if chosen.write:
        chosen.write.write_text(written_page(found, missing), encoding="utf-8")
    return 0


if __name__ == "__main__":
    gc.disable()  # what tracing makes lives on in caches anyway
    jax.config.update("jax_traceback_in_locations_limit", 0)  # nobody reads the lines of these programs
    sys.exit(main(sys.argv[1:]))
