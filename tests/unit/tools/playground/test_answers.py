"""The answers of the playground equal the JSON documents of the commands."""

from __future__ import annotations

import json
from typing import cast

import pytest
from support.examples import EXAMPLES

from sdy.diagnostics.diagnostic import MOST_SHOWN
from sdy.tools.main import main
from sdy.tools.playground.answers import answer

MACHINE = "h100"
(FILE,) = (path for path in EXAMPLES if path.stem == "matmul_case3")
TEXT = FILE.read_text("utf-8")
Json = dict[str, object]


def ask(**question: object) -> Json:
    return cast(Json, json.loads(answer(json.dumps(question))))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Json:
    """Return the document that a command prints."""
    assert main([*words, "--json"]) == 0
    return cast(Json, json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("name", ["matmul_case3", "constraint_transpose", "mlp_dp4_tp2"])
def test_an_analysis_has_the_documents_of_three_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = (path for path in EXAMPLES if path.stem == name)
    found = ask(ask="analysis", text=file.read_text("utf-8"), machine=MACHINE)
    assert found["report"] == _without_files(printed(capsys, "report", str(file), "--on", MACHINE))
    # The cost of the program on the page, whether or not another one is faster.
    assert found["cost"] == printed(capsys, "cost", str(file), "--on", MACHINE, "--minimize", "bytes")
    assert found["partition"] == printed(capsys, "partition", str(file))


def _without_files(report: Json) -> Json:
    """Return a report whose remarks name the file as the playground does."""
    remarks = [{**remark, "file": remark["file"] and "program.mlir"} for remark in cast(list[Json], report["remarks"])]
    return {**report, "remarks": remarks}


def test_a_value_has_the_document_of_explain(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(ask="value", text=TEXT, value="%arg0")
    assert found["explanation"] == printed(capsys, "explain", str(FILE), "%arg0")
    assert cast(Json, found["annotation"])["is_annotated"] is True


def test_why_not_has_the_document_of_explain(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(ask="why-not", text=TEXT, value="%0", dim=0, axis="y")
    assert found["explanation"] == printed(capsys, "explain", str(FILE), "%0", "--why-not", "dim=0 axis=y")


def test_controls_change_the_text() -> None:
    resized = ask(ask="mesh", text=TEXT, mesh="mesh", axes={"x": 8, "y": 2})["text"]
    assert '<["x"=8, "y"=2]>' in str(resized)
    annotated = ask(ask="annotation", text=TEXT, value="%arg0", dim=1, axes=['"y"'], closed=True)["text"]
    assert '%arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}' in str(annotated)


def test_an_error_is_located_and_shown_as_in_a_terminal() -> None:
    wrong = ask(ask="analysis", text=TEXT.replace('{"x"}', '{"z"}', 1), machine=MACHINE)
    (problem,) = cast(list[Json], wrong["diagnostics"])
    assert (problem["code"], problem["line"], problem["length"]) == ("SDY-S201", 3, 1)
    lines = str(problem["text"]).splitlines()
    assert lines[0].startswith("program.mlir:3:")
    wrong_line = TEXT.splitlines()[2].replace('{"x"}', '{"z"}', 1)
    assert lines[1] == f"  {wrong_line[:MOST_SHOWN]}..."
    assert lines[2].strip() == "^"
    (unknown,) = cast(list[Json], ask(ask="value", text=TEXT, value="%nothing")["diagnostics"])
    assert (unknown["code"], unknown["line"], unknown["length"]) == ("SDY-T203", None, 0)
