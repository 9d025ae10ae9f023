"""Search the pipelines of published rows, and compare them with the published recipes by the same price.

`SDY_RECIPES=70b-h100-64 SDY_RECIPE_SECONDS=300` choose the rows whose ids contain a text, and the time of a search. An
empty text chooses all 38 rows, which take hours; by default it is one row.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

import pytest
from support.measured.published import Row
from support.measured.recipes import program_of_recipe, recipe_of, rows_of_pipelines, searched

FOLDER = Path(__file__).parents[2].parent / "shared/measured"
CHOSEN = os.environ.get("SDY_RECIPES", "70b-gb200-64-mxfp8")
ROWS = [row for row in (rows_of_pipelines(FOLDER) if FOLDER.exists() else ()) if CHOSEN in row["id"]]
SECONDS = float(os.environ.get("SDY_RECIPE_SECONDS", "300"))
MOST = 1.05  # of the time of the recipe


@pytest.mark.benchmark
@pytest.mark.skipif(not FOLDER.exists(), reason="without the folder of published measurements")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_search_finds_a_pipeline_that_is_hardly_slower_than_the_published_one(row: Row) -> None:
    program = program_of_recipe(row)
    recipe, start = recipe_of(row, program), monotonic()
    plan = searched(recipe, program, SECONDS)
    ratio = plan.cost.seconds / recipe.seconds
    bound, seconds = plan.bound / recipe.seconds, monotonic() - start
    print(f"{row['id']}: {ratio:.3f} of {recipe.seconds:.4g} s, bound {bound:.3f}, found in {seconds:.0f} s: {plan!r}")
    assert plan.fits
    assert ratio <= MOST
