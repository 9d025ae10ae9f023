"""Functions of JAX on shards are proved completely, apart from a few that are listed.

An eighth of them runs by default, and all with `pytest -m slow`.
"""

from __future__ import annotations

import pytest
from support.jax_programs.library_functions import library_cases
from support.jax_programs.sharded_variants import VARIANTS

import sdy

FUNCTIONS = library_cases()
CASES = [(name, variant) for name in sorted(FUNCTIONS) for variant in VARIANTS]
NOT_PROVED = {("map", "first result")}  # a loop fills a copy of uneven shards
ALWAYS = (
    *("jax.numpy.any", "jax.numpy.prod", "jax.numpy.median", "cumprod_of_dim_1", "bits", "permutation", "approx_max_k"),
    *("linalg.svd", "top_k", "jax.numpy.argmax", "searchsorted", "associative_scan"),
)
SAMPLE = [each for number, each in enumerate(CASES) if number % 8 == 0 or each[0] in ALWAYS]


def check(name: str, variant: str) -> None:
    function, arguments = VARIANTS[variant](FUNCTIONS[name])
    proof = sdy.from_jax(function, *arguments).prove()
    assert proof.is_proved == ((name, variant) not in NOT_PROVED), proof.failures


@pytest.mark.parametrize(("name", "variant"), SAMPLE)
def test_functions_are_proved(name: str, variant: str) -> None:
    check(name, variant)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), [each for each in CASES if each not in SAMPLE])
def test_other_functions_are_proved(name: str, variant: str) -> None:
    check(name, variant)


def test_functions_that_always_run_exist() -> None:
    assert {*ALWAYS} <= {*FUNCTIONS}
