"""Tests of mutated programs: each is parsed, or rejected by a diagnostic with a location, within a time limit.

`pytest -m slow tests/property/test_mutated_text.py` tries 20,000.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

import pytest
from support.text.mutations import mutated

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.verification.verify_module import verify_module

TESTS = Path(__file__).resolve().parents[1]
TIMEOUT_SECONDS = 5  # seconds for one program
MAX_PROGRAM_LENGTH = 20_000  # characters of a program to start from
SHARDS = 8


@cache
def programs() -> tuple[str, ...]:
    folders = (TESTS / "filecheck", TESTS.parent / "sdy" / "examples")
    paths = sorted(path for folder in folders for path in folder.rglob("*.mlir"))
    texts = [part for path in paths for part in path.read_text().split("// -----")]
    return tuple(text for text in texts if text.strip() and len(text) <= MAX_PROGRAM_LENGTH)


@contextmanager
def time_limit(seconds: int) -> Generator[None, None, None]:
    def raise_timeout(*_: object) -> None:
        raise TimeoutError(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_still_valid(seed: int) -> bool:
    """Return whether the mutated program of `seed` is still valid."""
    random = Random(seed)
    text = mutated(random, random.choice(programs()), random.choice(programs()))
    with time_limit(TIMEOUT_SECONDS):
        diagnostics = problems(text, allow_unregistered=random.random() < 0.5)
    for diagnostic in diagnostics:
        assert diagnostic.span is not None, f"{diagnostic.code} has no location"
        assert 1 <= diagnostic.span.line <= text.count("\n") + 2
    return not diagnostics


def problems(text: str, *, allow_unregistered: bool) -> Sequence[Diagnostic]:
    """Return the diagnostics of parsing, verifying and printing a program."""
    try:
        module = parse_module(text, "broken.mlir", context=make_context(allow_unregistered=allow_unregistered))
        verify_module(module)
        print_module(module)
    except SdyError as error:
        return error.diagnostics
    return ()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_sample_of_mutated_programs(shard: int) -> None:
    read = [is_still_valid(seed) for seed in range(shard, 1_600, SHARDS)]
    assert True in read
    assert False in read


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_mutated_programs(shard: int) -> None:
    read = [is_still_valid(seed) for seed in range(100_000 + shard, 120_000, SHARDS)]
    assert 0 < sum(read) < len(read)
