"""Pipelines as text: what `--dump-pass-pipeline` prints parses to the passes that ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.passes.export.collectives.combine_collectives import CombineCollectivesPass
from sdy.passes.manager.all import PASSES, pass_class
from sdy.passes.manager.option_types import PassRequest, options_of
from sdy.passes.manager.pass_options import build_pass, parse_pipeline, pipeline_of
from sdy.passes.run import Pipeline, flattened
from sdy.passes.simplify.canonicalize import CanonicalizePass
from sdy.passes.simplify.cse import CsePass
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.upstream.per_instruction_partitioning import PerInstructionPartitioningPass

PROGRAM = """\
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}) -> tensor<4x8xf32> {
  %0 = stablehlo.tanh %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
PIPELINES = [name for name in PASSES if issubclass(pass_class(name), Pipeline)]
OTHER_VALUES: dict[object, object] = {
    int: 7,
    str: "a b'c",
    float: 0.5,
    tuple[str, ...]: ("a", "b"),
    tuple[ModulePass, ...]: (CsePass(), CanonicalizePass(("sdy-reshard", "sdy-collective"))),
}


def parsed(text: str) -> list[ModulePass]:
    return [build_pass(request) for request in parse_pipeline(text)]


def other_value(default: object, field_type: object) -> object:
    """Return a value of a type that is not the default."""
    if field_type is bool:
        return not default
    if get_origin(field_type) is Literal:
        return next(each for each in get_args(field_type) if each != default)
    return OTHER_VALUES[field_type]


def with_other_values(name: str) -> ModulePass:
    """Return a pass whose options all differ from their defaults."""
    kind = pass_class(name)
    values = {field.name: other_value(field.default, field_type) for field, field_type in options_of(kind).values()}
    return kind(**values)


def variants(pipeline: Pipeline) -> Iterator[Pipeline]:
    """Yield the pipeline with each choice of its flags, or, if it has many, with each flag changed."""
    excluded = "enable_auto_partitioning"  # needs a partitioner of the user
    flags = [field.name for field in fields(pipeline) if field.type == "bool" and field.name != excluded]
    choices: Sequence[Sequence[bool]] = list(product((False, True), repeat=len(flags))) if len(flags) < 6 else ()
    for values in choices:
        yield replace(pipeline, **dict(zip(flags, values, strict=True)))
    if not choices:
        yield pipeline
        for flag in flags:
            yield replace(pipeline, **{flag: not getattr(pipeline, flag)})


@pytest.mark.parametrize("name", [name for name in PASSES if name not in PIPELINES])
def test_the_text_of_a_pass_parses_to_the_pass(name: str) -> None:
    changed = with_other_values(name)
    assert parsed(pipeline_of([changed])) == [changed]
    if not any(field.default is field.default_factory for field, _ in options_of(pass_class(name)).values()):
        assert pipeline_of([pass_class(name)()]) == f"builtin.module({name})"


@pytest.mark.parametrize("name", PIPELINES)
def test_the_text_of_a_pipeline_parses_to_its_passes(name: str) -> None:
    kind = pass_class(name)
    assert issubclass(kind, Pipeline)
    for pipeline in variants(kind()):
        assert parsed(pipeline_of([pipeline])) == list(flattened([pipeline]))


def test_a_pipeline_that_writes_its_stages_parses_to_its_passes() -> None:
    pipeline = build_pass(PassRequest("sdy-export-pipeline", {"dump-directory": "a folder"}))
    assert "sdy-save-module{directory='a folder' file-name=after_propagation" in pipeline_of([pipeline])
    assert parsed(pipeline_of([pipeline])) == list(flattened([pipeline]))


def test_braces_in_quotes_are_text() -> None:
    text = "builtin.module(sdy-per-instruction-partitioning{filter='}{ a'},cse)"
    assert parsed(text) == [PerInstructionPartitioningPass(filter="}{ a"), CsePass()]
    assert pipeline_of(parsed(text)) == text


def test_bytes_are_written_as_a_number() -> None:
    assert pipeline_of([CombineCollectivesPass(most_bytes=1000)]) == (
        "builtin.module(sdy-combine-collectives{most-bytes=1000})"
    )


@pytest.mark.parametrize(
    ("text", "column", "length", "words", "hint"),
    [
        ("cse", 1, 3, "expected a pipeline that begins with builtin.module, got cse", "write builtin.module(cse)"),
        (" func.func (cse) ", 2, 9, "got func.func", "write builtin.module(func.func (cse))"),
        ("builtin.module(cse", 19, 1, "expected , or ) after a pass", None),
    ],
)
def test_a_malformed_pipeline_is_an_error_at_its_text(
    text: str, column: int, length: int, words: str, hint: str | None
) -> None:
    with pytest.raises(SdyError) as caught:
        parse_pipeline(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.column, diagnostic.span.length) == ("SDY-T005", column, length)
    assert words in diagnostic.message
    assert diagnostic.hint == hint


@pytest.mark.parametrize("name", PIPELINES)
def test_sdy_opt_accepts_the_pipeline_that_it_prints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    before = ["--sdy-partition-pipeline"] if name == "sdy-local-pipeline" else []
    assert sdy_opt([str(program), *before, f"--{name}", "--dump-pass-pipeline"]) == 0
    out, text = capsys.readouterr()
    assert sdy_opt([str(program), f"--pass-pipeline={text.splitlines()[0]}"]) == 0
    assert capsys.readouterr().out == out
