"""The pytest plugin: `sdy_expect` and `--sdy-update`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

pytest_plugins = ["pytester"]

TEST = f"""
import sdy

def test_step(sdy_expect):
    sdy_expect(sdy.load({str(EXAMPLES[EXAMPLE_NAMES.index("mlp_dp4_tp2")])!r}))
"""
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist")


def test_contracts_are_written_kept_and_broken(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    pytester.runpytest(*OPTIONS).stdout.fnmatch_lines(["*test_step.toml does not exist; write it with *--sdy-update*"])
    pytester.runpytest(*OPTIONS, "--sdy-update").assert_outcomes(passed=1)
    contract = Path(pytester.path) / "contracts" / "test_step.toml"
    assert "bytes_sent = 42_562" in contract.read_text()
    pytester.runpytest(*OPTIONS).assert_outcomes(passed=1)
    contract.write_text("bytes_sent = 1")
    result = pytester.runpytest(*OPTIONS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*each device sends 42,562 bytes, at most 1 allowed*"])


COMPARED = """
import jax
import jax.numpy as jnp

X = jax.ShapeDtypeStruct((4,), jnp.float32)

def test_right(sdy_expect_same):
    sdy_expect_same(lambda x: x + x, lambda x: 2 * x, X, gradients=True)

def test_wrong(sdy_expect_same):
    sdy_expect_same(lambda x: x + x, lambda x: 3 * x, X)

def test_other_results(sdy_expect_same):
    sdy_expect_same(lambda x: x, lambda x: x.sum(), X)
"""


def test_programs_are_expected_to_be_the_same_function(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(COMPARED)
    result = pytester.runpytest(*OPTIONS)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*output 0: at ?0?: * instead of *", "*SDY-V007*"])
