"""Mistakes in rules, kernels and verifiers that users register. A new process runs them: registration is permanent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

MISTAKES = '''\
import json

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

import sdy
from sdy.evidence.audit.program_audit import audit_program
from sdy.dialects.ir.op_table import OpTable
from sdy.interpreter.kernel import KernelTable, pointwise
from sdy.model.rule_builder import RuleBuilder, identity_rule

RULES, KERNELS = OpTable(), KernelTable()


def fails(*_):
    raise ZeroDivisionError("a mistake")


def op_class(case):
    @irdl_op_definition
    class MistakenOp(IRDLOperation):
        name = f"mistaken.{case}"
        x = operand_def(TensorType)
        result = result_def(TensorType)

        def verify_(self):
            if case == "verifier":
                fails()

    return MistakenOp


def library_fails(x):
    return np.concatenate([x, x[..., None]])


def wrong_rank(op):
    return RuleBuilder((1,), (1,)).factor(8, operands=(0,), results=(0,)).build()


RULES_OF = {
    "rule_raises": fails,
    "rule_is_text": lambda op: "text",
    "rule_of_wrong_rank": wrong_rank,
    "rule_is_none": lambda op: None,
    "rule_of_library_type": lambda op: op.get_attr_or_prop(3).data,
}
KERNELS_OF = {
    "kernel_raises": lambda op: pointwise(fails),
    "library_raises": lambda op: pointwise(library_fails),
    "factory_raises": fails,
    "kernel_is_text": lambda op: "text",
    "other_shape": lambda op: pointwise(lambda x: x[..., :1]),
    "other_dtype": lambda op: pointwise(lambda x: x.astype(np.float64)),
    "two_arrays": lambda op: lambda context, arrays: arrays + arrays,
    "no_device_dims": lambda op: lambda context, arrays: (arrays[0].reshape(-1),),
}
CASES = ["verifier", *RULES_OF, *KERNELS_OF]
OPS = {case: op_class(case) for case in CASES}
for case, op in OPS.items():
    RULES.of(op)(RULES_OF.get(case, lambda op: identity_rule((8, 8), 1, 1)))
    KERNELS.of(op)(KERNELS_OF.get(case, lambda op: pointwise(lambda x: x)))
sdy.register_dialect(Dialect("mistaken", list(OPS.values())), rules=RULES, kernels=KERNELS)
sdy.register_custom_call("call_rule_raises", lambda x: x, rule=fails)
sdy.register_custom_call("call_rule_is_text", lambda x: x, rule=lambda op: "text")

TEXT = """sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = OP(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
texts = {case: TEXT.replace("OP", f'"mistaken.{case}"') for case in CASES}
for case in ("call_rule_raises", "call_rule_is_text"):
    texts[case] = TEXT.replace("OP", f"stablehlo.custom_call @{case}")
found = {}
for case, text in texts.items():
    try:
        program = sdy.Program.from_text(text, "program.mlir")
        if case == "rule_is_none":
            found[case] = {"message": audit_program(program.module)[0].reason}
        else:
            program.verify()
    except sdy.SdyError as error:
        found[case] = error.diagnostics[0].to_json()
print(json.dumps(found))
'''


class Expected(NamedTuple):
    """The code of a diagnostic, its message, the file it points into and the text of the line there."""

    code: str | None
    message: str
    line: str | None = None  # in the file of the user; None if the diagnostic is at the op


RAISED = "raised ZeroDivisionError: a mistake"
FAILS = 'raise ZeroDivisionError("a mistake")'
EXPECTED = {
    "verifier": Expected("SDY-D005", f"verify_ of mistaken.verifier {RAISED}", FAILS),
    "rule_raises": Expected("SDY-R102", f"the sharding rule of mistaken.rule_raises {RAISED}", FAILS),
    "rule_is_text": Expected(
        "SDY-R103", "the sharding rule of mistaken.rule_is_text: expected an OpShardingRule or None, got 'text'"
    ),
    "rule_of_wrong_rank": Expected(
        "SDY-R004",
        "the sharding rule of mistaken.rule_of_wrong_rank: expected the rule to map 2 dims of operand, got 1",
    ),
    "rule_is_none": Expected(None, "the function of its rule returned None"),
    "rule_of_library_type": Expected(
        "SDY-R102", "the sharding rule of mistaken.rule_of_library_type raised", "op.get_attr_or_prop(3).data"
    ),
    "call_rule_raises": Expected("SDY-R102", f"the sharding rule of @call_rule_raises {RAISED}", FAILS),
    "call_rule_is_text": Expected(
        "SDY-R103", "the sharding rule of @call_rule_is_text: expected an OpShardingRule or None, got 'text'"
    ),
    "kernel_raises": Expected("SDY-X111", f"the kernel of mistaken.kernel_raises {RAISED}", FAILS),
    "library_raises": Expected(
        "SDY-X111", "the kernel of mistaken.library_raises raised ValueError", "np.concatenate([x, x[..., None]])"
    ),
    "factory_raises": Expected("SDY-X111", f"creating the kernel of mistaken.factory_raises {RAISED}", FAILS),
    "kernel_is_text": Expected("SDY-X111", "the kernel of mistaken.kernel_is_text raised TypeError"),
    "other_shape": Expected(
        "SDY-X112", "the kernel of mistaken.other_shape must return float32[8, 8], it returned float32[8, 1]"
    ),
    "other_dtype": Expected(
        "SDY-X112", "the kernel of mistaken.other_dtype must return float32[8, 8], it returned float64[8, 8]"
    ),
    "two_arrays": Expected(
        "SDY-X112",
        "the kernel of mistaken.two_arrays must return float32[8, 8], it returned float32[8, 8], float32[8, 8]",
    ),
    "no_device_dims": Expected(
        "SDY-X112", "the kernel of mistaken.no_device_dims must return float32[8, 8], it returned float32[64]"
    ),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """Return the diagnostic of each case, as plain data."""
    file = tmp_path_factory.mktemp("mistakes") / "mistakes.py"
    file.write_text(MISTAKES)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", EXPECTED)
def test_a_mistake_of_the_user_is_one_diagnostic(case: str, found: dict[str, dict[str, object]]) -> None:
    expected, actual = EXPECTED[case], found[case]
    assert actual.get("code") == expected.code
    assert str(actual["message"]).startswith(expected.message)
    if expected.line is not None:
        file = Path(str(actual["file"]))
        assert file.name == "mistakes.py"
        assert expected.line in MISTAKES.splitlines()[int(str(actual["line"])) - 1]
        assert actual["notes"] == ["called for this op"]
    elif expected.code is not None:
        assert (actual["file"], actual["line"]) == ("program.mlir", 3)
