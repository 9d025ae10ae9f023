"""Rules are learned by running ops: those of StableHLO as they are written down, and those of custom calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.evidence.audit.learn import learned_rule
from sdy.evidence.audit.program_audit import OpAudit, audit_program
from sdy.evidence.audit.summary import audited_op
from sdy.grammar.write import write_rule
from sdy.interpreter.ops import custom_calls as kernels
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.rules import custom_calls as rules

Floats = NDArray[np.float32]
LEARNED = {
    "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]"
    " : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>": (
        "<([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=4, k=5, l=3} reduction={l}, custom>"
    ),
    "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x4x3xf32>) -> tensor<3x2x4xf32>": (
        "<([j, k, i])->([i, j, k]) {i=3, j=2, k=4}, custom>"
    ),
    "%0 = stablehlo.add %a, %a : tensor<2x4x3xf32>": "<([i, j, k], [i, j, k])->([i, j, k]) {i=2, j=4, k=3}, custom>",
    "%0 = stablehlo.reverse %a, dims = [1] : tensor<2x4x3xf32>": (
        "<([i, k, j])->([i, l, j]) {i=2, j=3, k=4, l=4} need_replication={k, l}, custom>"
    ),
    "%0 = stablehlo.reshape %a : (tensor<2x4x3xf32>) -> tensor<2x12xf32>": (
        "<([i, j, k])->([i, l]) {i=2, j=4, k=3, l=12} need_replication={j, k, l}, custom>"
    ),
}


def program(line: str) -> str:
    return f"func.func @main(%a: tensor<2x4x3xf32>, %b: tensor<2x3x5xf32>) {{\n  {line}\n  return\n}}\n"


@pytest.mark.parametrize("line", LEARNED)
def test_rules_of_stablehlo(line: str) -> None:
    op = audited_op(parse_module(program(line)))
    assert write_rule(learned_rule(op)) == LEARNED[line]


class Register(Protocol):
    """The type of `sdy.register_custom_call`, for kernels of one operand."""

    def __call__(
        self,
        target: str,
        kernel: Callable[[Floats], object] | None = None,
        *,
        rule: Callable[[CustomCallOp], OpShardingRule | None] | None = None,
    ) -> None: ...


@pytest.fixture
def register() -> Iterator[Register]:
    """Return `sdy.register_custom_call`; what it registers is forgotten after the test."""
    targets = set(kernels.TARGETS), set(rules.BY_TARGET)
    yield sdy.register_custom_call
    for table, known in zip((kernels.TARGETS, rules.BY_TARGET), targets, strict=True):
        for target in set(table) - known:
            del table[target]


def calls(*lines: str) -> str:
    body = "\n".join(f"  %{number} = stablehlo.custom_call {line}" for number, line in enumerate(lines))
    return f"func.func @main(%x: tensor<4x6xf32>) {{\n{body}\n  return\n}}\n"


def audits(text: str) -> list[OpAudit]:
    return audit_program(sdy.Program.from_text(text).module, learn=True)


def proposals(text: str) -> list[str | None]:
    return [None if each.proposal is None else write_rule(each.proposal) for each in audits(text)]


def test_rules_of_custom_calls(register: Register) -> None:
    def moments(x: Floats) -> tuple[Floats, Floats]:
        return x.sum(axis=1), (x * x).sum(axis=1)

    register("moments", moments)
    register("norms", lambda x: np.sqrt((x * x).sum(axis=1)))
    register("numbered", lambda x: x + np.arange(len(x), dtype=x.dtype)[:, None])
    register("largest", lambda x: x.max(axis=1))
    row = "(tensor<4x6xf32>) -> tensor<4xf32>"
    text = calls(f"@norms(%x) : {row}", f"@largest(%x) : {row}", "@numbered(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>")
    assert proposals(text) == [
        "<([i, j])->([i]) {i=4, j=6} need_replication={j}, custom>",
        "<([i, j])->([i]) {i=4, j=6} need_replication={j}, custom>",
        "<([j, i])->([k, i]) {i=6, j=4, k=4} need_replication={j, k}, custom>",
    ]
    two = "%0:2 = stablehlo.custom_call @moments(%x) : (tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>)"
    assert proposals(f"func.func @main(%x: tensor<4x6xf32>) {{\n  {two}\n  return\n}}\n") == [
        "<([i, j])->([i], [i]) {i=4, j=6} reduction={j}, custom>"
    ]


def test_a_learned_rule_partitions(register: Register) -> None:
    register("squares", lambda x: (x * x).sum(axis=1))
    (proposal,) = proposals(calls("@squares(%x) : (tensor<4x6xf32>) -> tensor<4xf32>"))
    text = f"""sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<4x6xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}}) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @squares(%x) {{sdy.sharding_rule = #sdy.op_sharding_rule{proposal}}}
    : (tensor<4x6xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""
    found = sdy.Program.from_text(text)
    assert str(found.partition().local).count("stablehlo.all_reduce") == 1
    assert "all_gather" not in str(found.partition().local)
    assert all(each.agrees for each in found.verify())


def test_a_registered_rule_is_used_and_audited(register: Register) -> None:
    register("row_sums", lambda x: np.cumsum(x, axis=1), rule=lambda op: identity_rule((4, 6)))
    (found,) = audits(calls("@row_sums(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>"))
    assert found.audit is not None
    (problem,) = found.audit.problems
    assert problem == "factor j (pass_through): element [0, 1] of result 0 reads element [0, 0] of operand 0"


def test_what_cannot_be_audited_says_why(register: Register) -> None:
    register("raises", lambda x: x.reshape(5))
    register("wrong_shape", lambda x: x[:1])
    same = "(tensor<4x6xf32>) -> tensor<4x6xf32>"
    found = audits(calls(f"@raises(%x) : {same}", f"@wrong_shape(%x) : {same}", f"@unknown(%x) : {same}"))
    raised = "ValueError: cannot reshape array of size 24 into shape (5,)"
    assert [each.reason for each in found] == [
        f"it cannot be run: the kernel of @raises raised {raised}",
        "it cannot be run: the kernel of @wrong_shape must return float32[4, 6], it returned float32[1, 6]",
        "it cannot be run: no kernel for the custom call @unknown",
    ]
    negate = "  %0 = stablehlo.negate %x : tensor<1000xf32>\n"
    (large,) = audits(f"func.func @main(%x: tensor<1000xf32>) {{\n{negate}  return\n}}\n")
    assert large.reason == "its tensors are too large: audit it in a program with small ones"


SUM = """func.func @main(%x: tensor<8192xf32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8192xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SUM, "its tensors are too large: audit it in a program with small ones"),  # a copy for each of 8,192 elements
        (SUM.replace("8192", "8").replace("%a, %b", "%a, %y"), "its regions read values from outside of it"),
        (SUM.replace("8192", "?"), "its tensors have dynamic dims"),
    ],
)
def test_a_reduction_that_cannot_be_audited_says_why(text: str, reason: str) -> None:
    assert audits(text)[0].reason == reason


def test_a_target_is_registered_once(register: Register) -> None:
    register("once", np.negative)
    with pytest.raises(ValueError, match="the custom call @once has a kernel already"):
        register("once", np.negative)
    with pytest.raises(ValueError, match="the custom call @Eigh has a sharding rule already"):
        register("Eigh", rule=lambda op: None)
    with pytest.raises(SdyError, match="expected str"):
        register(cast(str, 1), np.negative)
