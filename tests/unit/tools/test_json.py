"""Each command prints with `--json` one document, which follows the published schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.documents.kinds import DOCUMENTS, OLD_DOCUMENTS
from sdy.tools.main import COMMANDS, OLD_NAMES, main
from sdy.tools.reference.json_page import json_schema, type_schema

MLP = str(EXAMPLES[EXAMPLE_NAMES.index("mlp_dp4_tp2")])
MATMUL = str(EXAMPLES[EXAMPLE_NAMES.index("matmul_case1")])
SUMMED_MATMUL = str(EXAMPLES[EXAMPLE_NAMES.index("matmul_case3")])  # partial results are summed
WITHOUT_RESULT = {"lsp"}  # a protocol of its own
NO_GATHERS = "[[collectives]]\nkind = 'all-gather'\ncount = 0\n"
CONFLICT = """sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
WRONG = """func.func @main(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
LAYER = """  %d{0} = stablehlo.dot_general %x{0}, %w, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t{0} = stablehlo.tanh %d{0} : tensor<64x64xf32>
  %x{1} = stablehlo.add %t{0}, %x{0} : tensor<64x64xf32>
"""
LAYERS = (
    "func.func @main(%x0: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {\n"
    + "".join(LAYER.format(number, number + 1) for number in range(4))
    + "  return %x4 : tensor<64x64xf32>\n}\n"
)

# The arguments of each case, with files in braces, and its exit code.
CASES: dict[str, tuple[str, int]] = {
    "verify": (f"verify {MLP} --adversarial --verbose", 0),
    "verify reduced": (f"verify {MLP} --reduced", 0),
    "verify several files": (f"verify {MLP} {MATMUL} {{missing.mlir}}", 2),
    "prove": (f"verify {MLP} --prove", 0),
    "prove another program": ("verify --prove {conflict.mlir} --local {wrong.mlir}", 1),
    "prove by the old name": ("prove {conflict.mlir}", 0),
    "partition": (f"partition {MLP}", 0),
    "partition to a file": (f"partition {MLP} --output {{local.mlir}}", 0),
    "report": (f"report {MLP}", 0),
    "report on several files": (f"report {MATMUL} {{conflict.mlir}}", 0),
    "report conflicts": ("report {conflict.mlir} --on h100", 0),
    "cost": (f"cost {MLP} --on tpu_v5e", 0),
    "cost of several files": (f"cost {MLP} {MATMUL} --on h100", 0),
    "cost of nothing": ("cost", 0),
    "calibrate": ("calibrate {times.csv} --on h100", 0),
    "check": (f"check {MLP} --contract {{contract.toml}}", 1),
    "check several files": (f"check {MLP} {MATMUL} --contract {{contract.toml}}", 1),
    "check and update": (f"check {MATMUL} --contract {{new.toml}} --update", 0),
    "lint": (f"lint {SUMMED_MATMUL} --on h100", 1),
    "lint several files": (f"lint {SUMMED_MATMUL} {MATMUL} --on h100", 1),
    "lint and fix": ("lint {conflict.mlir} --fix --show-small --output {fixed.mlir}", 0),
    "diff": (f"diff {MATMUL} {{conflict.mlir}}", 1),
    "search": (f"search {MATMUL} --time-limit 5", 0),
    "search in several files": (f"search {MATMUL} {SUMMED_MATMUL} --time-limit 5", 0),
    "search and explain": ("search {conflict.mlir} --explain --from-scratch", 0),
    "search for a pipeline": ("search {layers.mlir} --stages 2 --microbatches 2 --mesh x=2 --on h100", 0),
    "sweep": (f"search --sweep {MATMUL} --devices 2 --time-limit 5", 0),
    "sweep by the old name": (f"sweep {MATMUL} --devices 2 --time-limit 5", 0),
    "apply": (f"apply {MATMUL} --search", 0),
    "apply to several files": (f"apply {MATMUL} {SUMMED_MATMUL} --search", 0),
    "partition several files": (f"partition {MATMUL} {MLP}", 0),
    "explain": ("explain {conflict.mlir} %0 --conflicts --collectives", 0),
    "explain why not": ("explain {conflict.mlir} %0 --why-not dim=1,axis=x", 0),
    "audit": ("audit {wrong.mlir} --learn", 0),
    "audit several files": ("audit {wrong.mlir} {conflict.mlir} --processes 1", 0),
    "examples": ("examples", 0),
    "examples and copy": ("examples mlp_dp4_tp2 --output {copies}", 0),
    "notation": ("notation A[I_X,J] --mesh x=4 --shape f32[8,8]", 0),
}


@pytest.fixture
def words(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function from a command line to its words, with files in braces written to a folder."""
    times = "op,operand_bytes,seconds\ncopy,1073741824,7.4e-4\n"
    texts = {"times.csv": times, "contract.toml": NO_GATHERS, "conflict.mlir": CONFLICT, "wrong.mlir": WRONG}
    texts["layers.mlir"] = LAYERS
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def written(line: str) -> list[str]:
        return [
            str(tmp_path / word[1:-1]) if word.startswith("{") and word.endswith("}") else word for word in line.split()
        ]

    return written


def document(command: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command with `--json`, and return its document, which must follow the schema of the command."""
    assert main([*command, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    validator(command[0]).validate(found)
    return found


def validator(command: str) -> Draft202012Validator:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator({**schema, "$ref": f"#/$defs/sdy-{command}"})


@pytest.mark.parametrize("case", CASES)
def test_the_output_follows_the_schema(
    case: str, words: Callable[[str], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    line, code = CASES[case]
    assert document(words(line), code, capsys)


@pytest.mark.jax
def test_the_comparison_of_partitioners_follows_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax")
    report = document(["report", MATMUL, "--with", "xla"], 0, capsys)
    found = document(["compare", MATMUL, "--with", "xla"], 0, capsys)
    assert report["partitioners"] == found
    assert [each["partitioner"] for each in found] == ["sdy", "xla"]


def test_every_command_has_a_document_and_a_case() -> None:
    assert set(DOCUMENTS) == set(COMMANDS) - WITHOUT_RESULT
    assert set(OLD_DOCUMENTS) == set(OLD_NAMES) - {"completion"}
    assert {line.split()[0] for line, _ in CASES.values()} | {"compare"} == set(DOCUMENTS | OLD_DOCUMENTS)


def test_documents_say_what_the_text_says(
    words: Callable[[str], list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    verification = document(["verify", MLP], 0, capsys)
    assert verification["agrees"]
    assert len(verification["outputs"]) == 9
    assert verification["statistics"]["bytes_sent"] == 42562
    assert verification["meshes"] == [{"name": "mesh", "axes": {"data": 4, "model": 2}, "devices": 8, "device_ids": []}]
    partition = document(["partition", MLP, "--output", str(tmp_path / "local.mlir")], 0, capsys)
    assert partition["program"] is None
    assert '"stablehlo.all_reduce"' in Path(partition["output"]).read_text()
    explanation = document(words("explain {conflict.mlir} %a --conflicts"), 0, capsys)
    (value,) = explanation["values"]
    assert [(each["dim"], each["axis"]) for each in value["copies"][0]["axes"]] == [(0, '"x"')]
    assert value["copies"][0]["axes"][0]["steps"][0] == {"line": "line 2", "text": '%a: annotated [{"x"}, {}]'}
    assert explanation["collectives"] is None
    assert len(explanation["conflicts"]) == 1


def test_a_command_that_cannot_be_run_prints_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "none.mlir", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "SDY-T001" in printed.err


WRONG_DOCUMENTS: dict[str, Mapping[str, object]] = {
    "a field is missing": {},
    "a field is unknown": {"copied": [], "more": 1},
    "a field has another type": {"copied": [1]},
}


@pytest.mark.parametrize("name", WRONG_DOCUMENTS)
def test_the_schema_refuses_other_documents(name: str) -> None:
    with pytest.raises(ValidationError):
        validator("examples").validate(WRONG_DOCUMENTS[name])


def test_types_have_schemas() -> None:
    assert type_schema(dict[str, int]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert type_schema(list[str] | None) == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]
    }
    with pytest.raises(AssertionError, match="no JSON Schema"):
        type_schema(complex)
