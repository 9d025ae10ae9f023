"""Compare our passes with Shardy's on random programs of many ops: the printed modules must be equal.

A thousand programs run by default. `pytest -m slow tests/differential/test_random_programs.py` runs twenty thousand
larger ones; `-s` prints how many were replaced by other programs, and why.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import count

import pytest
from support.oracle.comparison import Normalise, Verdict, compare
from support.oracle.known_differences import IS_NEWER, KNOWN, KnownDifference
from support.oracle.process import OracleProcess
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except

from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

PIPELINE = "builtin.module(sdy-propagation-pipeline)"
CHUNK = 100
# The number of programs that may be replaced because the oracle aborts or both sides reject them.
REPLACED = 5
SEEDS_PER_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """A pipeline and the options of its input programs."""

    pipeline: str
    options: Options
    reprint: bool = False
    normalise: Normalise = str.strip


def imported(propagate: str) -> str:
    """Return a pipeline of one propagation pass and the import passes that it requires."""
    passes = "sdy-manual-axes-cleanup,sdy-add-data-flow-edges,sdy-apply-sharding-constraints,sdy-sharding-group-import"
    return f"builtin.module({passes},{propagate})"


def without_reduction_kinds(text: str) -> str:
    """Remove reduction kinds, which the older Shardy does not support."""
    if IS_NEWER:
        return text
    return re.sub(r"(sdy\.all_reduce|unreduced=) ?(?:max|min) ?", lambda match: f"{match[1]} ", text)


STANDALONE = Options(ops=5, standalone=True)
PASSES = {
    "basic": Case(imported("sdy-basic-propagate"), STANDALONE),
    "aggressive": Case(
        imported("sdy-aggressive-propagate{propagation-strategy=basic-then-aggressive keep-sharding-rules=true}"),
        STANDALONE,
        reprint=True,
    ),
    "op priority": Case(imported("sdy-op-priority-propagate{conservative-propagation=true}"), STANDALONE),
    "user priority": Case(
        imported("sdy-user-priority-propagate{propagation-strategy=basic run-op-priority-propagation=false}"),
        STANDALONE,
    ),
    "without edges": Case("builtin.module(sdy-aggressive-propagate)", STANDALONE),
    "rules": Case("builtin.module(func.func(sdy-populate-op-sharding-rules))", STANDALONE, reprint=True),
    "conservative rules": Case(
        "builtin.module(func.func(sdy-populate-op-sharding-rules{conservative-propagation=true}))",
        STANDALONE,
        reprint=True,
    ),
    "import": Case("builtin.module(sdy-import-pipeline)", Options(ops=5)),
    "calls kept": Case("builtin.module(sdy-propagation-pipeline{dedup-functions-fully=true})", Options(ops=5)),
    "reshards": Case(
        "builtin.module(sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-version=true}))",
        Options(ops=5),
        normalise=without_reduction_kinds,
    ),
}


def check(oracle: OracleProcess, case: Case, first_seed: int, required: int) -> None:
    """Compare `required` programs. Programs that cannot be compared are replaced."""
    verdicts = Counter[Verdict]()
    for seed in count(first_seed):
        text = random_program(seed, case.options)
        found = compare(oracle, text, case.pipeline, reprint=case.reprint, normalise=case.normalise)
        assert not found.verdict.is_difference, f"seed {seed}, {found.verdict.value}\n{text}\n{found.details}"
        verdicts[found.verdict] += 1
        if verdicts[Verdict.SAME] == required:
            break
    print(", ".join(f"{number} {verdict.value}" for verdict, number in verdicts.items()))
    assert verdicts[Verdict.KNOWN] <= required // 4
    assert verdicts.total() - verdicts[Verdict.KNOWN] - required <= max(REPLACED, required // 20)


@pytest.mark.parametrize("chunk", slow_except([0, 1, 2], range(1000 // CHUNK)))
def test_propagation_pipeline(oracle: OracleProcess, chunk: int) -> None:
    check(oracle, Case(PIPELINE, Options(ops=5)), chunk * SEEDS_PER_CHUNK, CHUNK)


@pytest.mark.parametrize("name", PASSES)
def test_other_passes(oracle: OracleProcess, name: str) -> None:
    check(oracle, PASSES[name], 0, 25)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.reason)
def test_known_differences_exist(oracle: OracleProcess, known: KnownDifference) -> None:
    found = compare(oracle, known.example, known.pipeline, reprint=True)
    assert (found.verdict, found.details) == (Verdict.KNOWN, known.reason)


def test_random_programs_cover_ops_and_annotations() -> None:
    texts = [random_program(seed, STANDALONE if seed % 2 else Options(ops=5)) for seed in range(300)]
    ops = (
        *(
            "add",
            "select",
            "clamp",
            "convert",
            "iota",
            "constant",
            "transpose",
            "reverse",
            "reshape",
            "broadcast_in_dim",
        ),
        *("concatenate", "pad", "slice", "dynamic_slice", "dynamic_update_slice", "dot_general", "reduce"),
        *("reduce_window", "convolution", "sort", "gather", "scatter", "optimization_barrier", "while", "case"),
        "custom_call",
    )
    annotations = (
        *("sdy.sharding_constraint", "sdy.sharding_group", "sdy.propagation_barrier", "sdy.manual_computation"),
        *("sdy.named_computation", "func.call", "sdy.sharding_rule", "blocked_propagation=", "need_replication="),
        *("unreduced={", "replicated={", "?}", "}p1", ":(1)2", ":(2)2", "@same", "@reversed", "@maximal", "mesh<["),
        *('"w"=', "=1", "=3", "=6", "=8"),
    )
    for part in (*(f"stablehlo.{op}" for op in ops), *annotations):
        assert any(part in text for text in texts), part


def test_executable_programs_run() -> None:
    for seed in range(40):
        program = Program.from_text(random_program(seed, Options(ops=5, executable=True, max_devices=32)))
        assert program.run(*random_inputs(program.module, seed))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(20))
def test_propagation_pipeline_on_larger_programs(oracle: OracleProcess, chunk: int) -> None:
    """20,000 programs, of which at most 5 % are replaced."""
    check(oracle, Case(PIPELINE, Options(ops=10)), chunk * 2 * SEEDS_PER_CHUNK, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_other_passes_at_length(oracle: OracleProcess, name: str) -> None:
    for chunk in range(10):
        check(oracle, PASSES[name], chunk * SEEDS_PER_CHUNK, CHUNK)
