"""MLIR's parser and verifier accept the text of local programs."""

from __future__ import annotations

from itertools import product

import pytest
from support.oracle.jaxlib_mlir import generic_text
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except
from support.text.programs import programs

from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)
SHARDINGS = ('[{"x"}, {}]', '[{"x"}, {"y"}]', '[{"y", "x"}, {}]', '[{}, {"x", "y"}]', "[{}, {}]")
SHARES = 4
UNKNOWN_DIALECTS = ("check.", "interpreter.")  # that jaxlib does not have


def local_text(text: str) -> str | None:
    """Return the local program, or None if the program cannot be partitioned."""
    try:
        return str(Program.from_text(text).partition())
    except SdyError:
        return None


@pytest.mark.parametrize("share", range(SHARES))
def test_programs_of_the_repository(share: int) -> None:
    texts = [local for text in programs()[share::SHARES] if "@main" in text and (local := local_text(text))]
    known = [text for text in texts if not any(dialect in text for dialect in UNKNOWN_DIALECTS)]
    assert known
    for text in known:
        generic_text(text)


@pytest.mark.parametrize("share", slow_except([1], range(SHARES)))
def test_random_programs(share: int) -> None:
    for seed in range(share, 80, SHARES):
        text = local_text(random_program(seed, OPTIONS))
        assert text is not None
        generic_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_many_random_programs(share: int) -> None:
    for seed in range(100_000 + share, 102_000, SHARES):
        text = local_text(random_program(seed, OPTIONS))
        assert text is not None
        generic_text(text)


@pytest.mark.parametrize("shape", ["0x8", "8x0", "0x0"])
def test_reshards_of_tensors_without_elements(shape: str) -> None:
    for source, target in product(SHARDINGS, SHARDINGS):
        program = Program.from_text(f"""
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<{shape}xf32> {{sdy.sharding = #sdy.sharding<@m, {source}>}})
    -> (tensor<{shape}xf32> {{sdy.sharding = #sdy.sharding<@m, {target}>}}) {{
  return %a : tensor<{shape}xf32>
}}""")
        generic_text(str(program.partition()))
        assert all(outcome.agrees for outcome in program.verify())
