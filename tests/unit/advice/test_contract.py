"""Contracts: which bounds and shardings a program keeps, and what the message about a broken one says."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.advice.contract import CollectiveBound, Contract, contract_of
from sdy.advice.contract_file import read_contract, write_contract
from sdy.cost.collectives import CollectiveKind
from sdy.diagnostics.diagnostic import SdyError

# Each trip multiplies partial sums, 8 x 32 x 4 bytes, and reduce-scatters them among 4 devices; the result is gathered.
LOOP = """\
sdy.mesh @m = <["x"=4, "y"=1]>
func.func @main(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>},
                %w: tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<8x32xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %less = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %product = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
        : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    stablehlo.return %next, %product : tensor<i32>, tensor<8x32xf32>
  }
  return %0#1 : tensor<8x32xf32>
}
func.func private @other(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  return %x : tensor<8x32xf32>
}
"""
SENT = 3 * 8 * 32 * 4 // 4  # by each device, in a ring of 4, either way


@pytest.fixture(scope="module")
def loop() -> sdy.Program:
    return sdy.Program.from_text(LOOP, "loop.mlir").without_optimizer()


def broken(program: sdy.Program, contract: Contract) -> list[str]:
    return [each.message for each in program.breaches(contract)]


def test_collectives_in_a_loop_count_once_in_the_program_and_per_trip_in_runs_and_bytes(loop: sdy.Program) -> None:
    scatter, gather = loop.partition_summary().collectives
    assert (scatter.kind, gather.kind) == (CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER)
    assert (scatter.runs, scatter.bytes_sent, scatter.is_in_loop) == (5, 5 * SENT, True)
    assert (gather.runs, gather.bytes_sent, gather.is_in_loop) == (1, SENT, False)
    assert (scatter.function, scatter.line, scatter.source) == ("main", 14, "line 14")
    assert str(scatter) == f'reduce-scatter along "x" at line 14: {5 * SENT:,} bytes in 5 runs'


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (CollectiveBound(count=2, runs=6, bytes=6 * SENT), None),
        (CollectiveBound(count=0), "the program has 2 collectives, at most 0 allowed"),
        (CollectiveBound(runs=5), "the program runs 6 collectives, at most 5 allowed"),
        (CollectiveBound(bytes=4607), "each device sends 4,608 bytes in collectives, at most 4,607 allowed"),
        (CollectiveBound(CollectiveKind.ALL_TO_ALL, count=0), None),
        (CollectiveBound(axes=frozenset("y"), count=0), None),
        (
            CollectiveBound(axes=frozenset("xy"), count=0),
            'the program has 2 collectives along "x" or "y", at most 0 allowed',
        ),
        (CollectiveBound(in_loop=False, count=0), "the program has 1 collective outside of loops, at most 0 allowed"),
        (CollectiveBound(in_loop=True, count=0), "the program has 1 collective in loops, at most 0 allowed"),
        (CollectiveBound(function="other", count=0), None),
        (CollectiveBound(function="main", count=0), "the program has 2 collectives in @main, at most 0 allowed"),
        (CollectiveBound(source="line 13", count=0), None),
        (CollectiveBound(source="line 14", count=0), "the program has 1 collective at line 14, at most 0 allowed"),
    ],
)
def test_a_bound_applies_to_the_collectives_that_match_its_selectors(
    loop: sdy.Program, bound: CollectiveBound, message: str | None
) -> None:
    assert broken(loop, Contract((bound,))) == ([] if message is None else [message])


def test_totals_are_bounded(loop: sdy.Program) -> None:
    facts = loop.partition_summary("h100")
    kept = Contract((), facts.bytes_sent, facts.peak_bytes, facts.seconds, "h100")
    assert broken(loop, kept) == []
    assert broken(loop, replace(kept, bytes_sent=facts.bytes_sent - 1)) == [
        "each device sends 4,608 bytes, at most 4,607 allowed"
    ]
    (memory,) = broken(loop, replace(kept, peak_bytes=100))
    assert memory == f"the peak memory of a device is {facts.peak_bytes:,} bytes, at most 100 allowed"
    (time,) = broken(loop, replace(kept, seconds=facts.seconds / 2))
    assert time.startswith(f"the predicted time on h100 is {facts.seconds:.4g} s, at most ")


def test_a_tolerance_is_for_bytes_and_seconds_but_not_for_numbers_of_collectives(loop: sdy.Program) -> None:
    facts = loop.partition_summary("h100")
    least = Contract((CollectiveBound(bytes=4000),), 4000, facts.peak_bytes - 8, facts.seconds / 1.1, "h100")
    assert len(broken(loop, least)) == 4
    assert broken(loop, replace(least, tolerance=0.2)) == []
    found = broken(loop, replace(least, tolerance=0.125))  # 4,608 bytes are 15.2 % more than 4,000
    assert found == [
        "each device sends 4,608 bytes, at most 4,000 allowed, with a tolerance of 0.12",
        "each device sends 4,608 bytes in collectives, at most 4,000 allowed, with a tolerance of 0.12",
    ]
    counts = Contract((CollectiveBound(count=1, runs=5),), tolerance=1)
    assert broken(loop, counts) == [
        "the program has 2 collectives, at most 1 allowed; the program runs 6 collectives, at most 5 allowed"
    ]


def test_a_message_names_the_collective_its_line_and_the_annotation_that_brought_it(loop: sdy.Program) -> None:
    with pytest.raises(SdyError) as raised:
        loop.expect(counts={"reduce-scatter": 0})
    text = str(raised.value)
    assert "error: the program has 1 reduce-scatter, at most 0 allowed [SDY-C001]" in text
    assert 'loop.mlir:14:16: note: reduce-scatter along "x" at line 14: 3,840 bytes in 5 runs' in text
    assert 'line 2  %w: annotated [{"x"}, {}]' in text


def test_the_causes_of_a_collective_are_given_once(loop: sdy.Program) -> None:
    with pytest.raises(SdyError) as raised:
        loop.expect(Contract((CollectiveBound(count=0), CollectiveBound(in_loop=True, count=0)), bytes_sent=0))
    assert len(raised.value.diagnostics) == 3
    assert str(raised.value).count("dim 1 of %iterArg_0 is sharded along") == 1
    assert str(raised.value).count("reduce-scatter along") == 3


def test_a_peak_names_the_largest_values(loop: sdy.Program) -> None:
    with pytest.raises(SdyError, match=re.escape("%w (line 2): 1,024 bytes")):
        loop.expect(peak_bytes="1kB")


@pytest.mark.parametrize(
    ("name", "text"),
    [("%w", '[{"x"}, {}]'), ("%arg1", 'P("x", None)'), ("%w", '<@m, [{"x"}, {}]>'), ("result[0]", "[{}, {}]")],
)
def test_a_sharding_may_be_written_in_any_notation(loop: sdy.Program, name: str, text: str) -> None:
    loop.expect(shardings={name: text})


def test_another_sharding_is_explained(loop: sdy.Program) -> None:
    with pytest.raises(SdyError) as raised:
        loop.expect(shardings={"%w": '[{}, {"x"}]'})
    text = str(raised.value)
    assert 'error: %w is sharded [{"x"}, {}], expected [{}, {"x"}] [SDY-C004]' in text
    assert 'line 2  %w: annotated [{"x"}, {}]' in text


def test_unknown_values_and_kinds_are_errors(loop: sdy.Program) -> None:
    with pytest.raises(SdyError, match="has no value %v"):
        loop.expect(shardings={"%v": "[{}]"})
    with pytest.raises(ValueError, match="expected one of all-gather, all-reduce"):
        loop.expect(counts={"allgather": 0})


def test_a_written_contract_is_read_again_and_kept() -> None:
    for path in EXAMPLES:
        program = sdy.load(path)
        contract = contract_of(program.partition_summary("tpu_v5e"))
        text = write_contract(contract)
        assert broken(program, read_contract(text, "contract.toml")) == [], path


@pytest.mark.parametrize("wanted", [8, pytest.param(30, marks=pytest.mark.slow)])
def test_a_contract_is_broken_by_changed_annotations_that_send_more(wanted: int) -> None:
    """Check seeded changes of the annotations of the examples, each of which sends more bytes."""
    rng = random.Random(30)
    paths = EXAMPLES
    contracts = {path: contract_of(sdy.load(path).partition_summary()) for path in paths}
    sent = {path: sdy.load(path).partition_summary().bytes_sent for path in paths}
    found = 0
    for _ in range(300):
        path = rng.choice(paths)
        changed = sdy.Program.from_text(_changed(path, rng), path.name)
        if changed.partition_summary().bytes_sent > sent[path]:
            found += 1
            assert broken(changed, contracts[path]), changed
        if found == wanted:
            return
    pytest.fail(f"only {found} changes send more bytes")


def _changed(path: Path, rng: random.Random) -> str:
    """Return the text of a program with the axes of one annotation removed, or moved to another dim."""
    text = path.read_text()
    annotations = [each for each in re.finditer(r"#sdy\.sharding<@mesh, \[(\{[^\]]*)\]", text) if '"' in each[1]]
    chosen = rng.choice(annotations)
    dims = chosen[1].split("}, {")
    dims = rng.choice([dims[::-1], ["{", *["" for _ in dims[1:]]]])
    dims = [each.strip("{}") for each in dims]
    return text[: chosen.start(1)] + ", ".join(f"{{{each}}}" for each in dims) + text[chosen.end(1) :]


@pytest.mark.parametrize(
    ("selector", "message", "hint"),
    [
        ("axes = ['z']", 'no mesh of the program has an axis "z"', "the program has x, y"),
        ("function = 'mian'", "the program has no function @mian", "did you mean main?"),
        ("source = 'foo.py'", "no op of the program comes from foo.py", "the program has line 1, line 2, line 5 and"),
        ("source = 'line 140'", "no op of the program comes from line 140", "did you mean line 14?"),
    ],
)
def test_a_selector_that_names_nothing_is_an_error(loop: sdy.Program, selector: str, message: str, hint: str) -> None:
    contract = read_contract(f"[[collectives]]\ncount = 9\n[[collectives]]\n  {selector}\ncount = 0", "contract.toml")
    with pytest.raises(SdyError) as raised:
        loop.expect(contract)
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("SDY-C011", message)
    assert (found.hint or "").startswith(hint)
    assert found.span is not None
    assert (found.span.file, found.span.line, found.span.column) == ("contract.toml", 4, 3)


def test_selectors_in_python_are_checked_too(loop: sdy.Program) -> None:
    with pytest.raises(SdyError, match='no mesh of the program has an axis "z"'):
        loop.expect(Contract((CollectiveBound(axes=frozenset({"z"}), count=0),)))
    loop.expect(Contract((CollectiveBound(axes=frozenset({"x"}), function="main", source="line 9", count=0),)))
