"""docs/guides/proof.md names every relation of the proof."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from sdy.evidence.proof.relations import Relation

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "proof.md"


def test_every_relation_is_in_the_table() -> None:
    rows = [line.split("|")[1] for line in GUIDE.read_text().splitlines() if line.startswith("| ")]
    missing = [kind.__name__ for kind in get_args(Relation) if not any(f"`{kind.__name__}`" in row for row in rows)]
    assert missing == []
