"""Ops of a dialect of one's own. A new process registers them, because registration is permanent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OWN = """\
import json

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def, region_def, result_def, traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure

import sdy
from sdy.cost.statistics import statistics_of
from sdy.extend import ComputesBy, FactorKind, KernelTable, OpCost, OpTable, RuleBuilder, pointwise

RULES, KERNELS, COSTS = OpTable(), KernelTable(), OpTable()


@irdl_attr_definition
class Handle(ParametrizedAttribute, TypeAttribute):
    name = "own.handle"


def product_rule(op):
    (rows, depth), (_, columns) = op.x.type.get_shape(), op.w.type.get_shape()
    builder = RuleBuilder((2, 2), (2,))
    builder.factor(rows, operands=(0, None), results=(0,))
    builder.factor(columns, operands=(None, 1), results=(1,))
    return builder.factor(depth, operands=(1, 0), results=(None,), kind=FactorKind.REDUCTION).build()


def rows_rule(results):
    def rule(op):
        rows, columns = op.x.type.get_shape()
        builder = RuleBuilder((2,), (2,) * results)
        builder.factor(rows, operands=(0,), results=(0,) * results)
        return builder.factor(columns, operands=(1,), results=(1,) * results, kind=FactorKind.NEED_REPLICATION).build()

    return rule


@irdl_op_definition
class ProductOp(IRDLOperation):
    name = "own.product"
    x, w, result = operand_def(TensorType), operand_def(TensorType), result_def(TensorType)
    traits = traits_def(Pure(), ComputesBy(product_rule))


@irdl_op_definition
class PairOp(IRDLOperation):
    name = "own.pair"
    x, one, other = operand_def(TensorType), result_def(TensorType), result_def(TensorType)
    traits = traits_def(Pure(), ComputesBy(rows_rule(2)))


@irdl_op_definition
class YieldOp(IRDLOperation):
    name = "own.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())


@irdl_op_definition
class RowsOp(IRDLOperation):
    name = "own.rows"
    x, result, body = operand_def(TensorType), result_def(TensorType), region_def()
    traits = traits_def(Pure())


@irdl_op_definition
class OpenOp(IRDLOperation):
    name = "own.open"
    x, handle = operand_def(TensorType), result_def(Handle)


@irdl_op_definition
class ReadOp(IRDLOperation):
    name = "own.read"
    handle, x, result = operand_def(Handle), operand_def(TensorType), result_def(TensorType)


@irdl_op_definition
class UnknownOp(IRDLOperation):
    name = "own.unknown"
    x, result = operand_def(TensorType), result_def(TensorType)


RULES.of(ProductOp)(product_rule)
RULES.of(PairOp)(rows_rule(2))
RULES.of(RowsOp)(rows_rule(1))


@RULES.of(ReadOp)
def read_rule(op):
    builder = RuleBuilder((0, 2), (2,))
    for dim, size in enumerate(op.x.type.get_shape()):
        builder.factor(size, operands=(None, dim), results=(dim,))
    return builder.build()


KERNELS.of(ProductOp)(lambda op: pointwise(lambda x, w: x @ w))
KERNELS.of(PairOp)(lambda op: lambda context, arrays: (arrays[0] * 2, arrays[0] + 1))
KERNELS.of(RowsOp)(lambda op: pointwise(lambda x: x * x))
KERNELS.of(OpenOp)(lambda op: pointwise(lambda x: x.sum(axis=(-2, -1))))
KERNELS.of(ReadOp)(lambda op: pointwise(lambda handle, x: x + handle[..., None, None]))


@COSTS.of(ProductOp)
def product_cost(op):
    return 2 * op.x.type.get_shape()[0] * op.x.type.get_shape()[1] * op.w.type.get_shape()[1]


@COSTS.of(RowsOp)
def rows_cost(op):
    return OpCost(flops=5, bytes=8e9)


@COSTS.of(PairOp)
def pair_cost(op):
    return "much" if op.x.type.get_shape()[1] == 6 else OpCost(flops=1)


sdy.register_dialect(
    Dialect("own", [ProductOp, PairOp, YieldOp, RowsOp, OpenOp, ReadOp, UnknownOp], [Handle]),
    rules=RULES, kernels=KERNELS, costs=COSTS,
)
sdy.register_custom_call("counted", lambda x: x, flops=lambda op: 7 * op.operands[0].type.get_shape()[0], bytes=3e9)
sdy.register_custom_call("attend", lambda x: x + 1, flops=11)
sdy.register_custom_call("misshapen", rule=lambda op: RuleBuilder((1,), (1,)).factor(8, (0,), (0,)).build())
"""

ASKED = (
    OWN
    + '''
HEADER = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<4x8xf32> {
"""
BODIES = {
    "product": '%0 = "own.product"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>',
    "pair": """%1:2 = "own.pair"(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %0 = stablehlo.add %1#0, %1#1 : tensor<4x8xf32>""",
    "rows": """%0 = "own.rows"(%x) ({
  ^bb0(%row: tensor<8xf32>):
    %1 = stablehlo.multiply %row, %row : tensor<8xf32>
    "own.yield"(%1) : (tensor<8xf32>) -> ()
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>""",
    "handle": """%1 = "own.open"(%x) : (tensor<4x8xf32>) -> !own.handle
  %0 = "own.read"(%1, %x) : (!own.handle, tensor<4x8xf32>) -> tensor<4x8xf32>""",
    "unknown": '%0 = "own.unknown"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>',
    "counted": "%0 = stablehlo.custom_call @counted(%x) : UNARY",
    "kernel": '%0 = stablehlo.custom_call @tpu_custom_call(%x) {kernel_name = "attend"} : UNARY',
    "other kernel": '%0 = stablehlo.custom_call @tpu_custom_call(%x) {kernel_name = "other"} : UNARY',
    "estimate": """%0 = stablehlo.custom_call @tpu_custom_call(%x) {backend_config =
      "{\\\\22cost_estimate\\\\22: {\\\\22flops\\\\22:123, \\\\22bytes_accessed\\\\22: 6e9}}"} : UNARY""",
    "misshapen": "%0 = stablehlo.custom_call @misshapen(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
}


def asked(question):
    try:
        return question()
    except sdy.SdyError as error:
        return error.diagnostics[0].to_json()


found = {}
for name, body in BODIES.items():
    body = body.replace("UNARY", "(tensor<4x8xf32>) -> tensor<4x8xf32>")
    text = HEADER + "  " + body + "\\n  return %0 : tensor<4x8xf32>\\n}\\n"
    loaded = asked(lambda: sdy.Program.from_text(text, "own.mlir"))
    if isinstance(loaded, dict):
        found[name] = {"load": loaded}
        continue
    found[name] = {
        "local": sdy.ir.print_module(loaded.partition().local),
        "cost": asked(lambda: loaded.cost("tpu_v5e").to_json()),
        "flops": asked(lambda: statistics_of(loaded.partition().local).flops),
        "verify": asked(lambda: str(loaded.verify().verdict.value)),
        "prove": repr(loaded.prove()),
    }
text = HEADER.replace("4x8", "4x6") + """
  %1:2 = "own.pair"(%x) : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return %1#0 : tensor<4x6xf32>
}"""
found["wrong cost"] = asked(lambda: sdy.Program.from_text(text, "own.mlir").cost("h100").to_json())
print(json.dumps(found))
'''
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the answers for each program, as plain data."""
    file = tmp_path_factory.mktemp("own") / "own.py"
    file.write_text(ASKED)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["product", "pair", "rows", "handle", "counted", "kernel"])
def test_ops_of_ones_own_compute_the_same_on_shards(name: str, found: dict[str, dict[str, Any]]) -> None:
    # The product runs in floats, whose sums are rounded otherwise on shards.
    assert found[name]["verify"] == ("not decided" if name == "product" else "the same function")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("product", '"own.product"(%4, %arg1) : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>'),
        ("pair", '"own.pair"(%arg0) : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)'),
        ("rows", "^bb0(%arg2: tensor<8xf32>):"),
        ("rows", ") : (tensor<2x8xf32>) -> tensor<2x8xf32>"),
        ("handle", "(!own.handle, tensor<2x8xf32>) -> tensor<2x8xf32>"),
    ],
)
def test_regions_results_and_types_are_partitioned_along_the_rule(
    name: str, line: str, found: dict[str, dict[str, Any]]
) -> None:
    assert line in found[name]["local"]


def test_a_lemma_proves_ops_along_sharded_dims(found: dict[str, dict[str, Any]]) -> None:
    assert found["product"]["prove"] == "Proof(proved, 10 of 10 ops)"
    assert found["pair"]["prove"] == "Proof(proved, 2 of 2 ops)"
    assert found["handle"]["prove"].startswith("Proof(not proved")


def test_costs_are_those_of_the_shapes_of_one_device(found: dict[str, dict[str, Any]]) -> None:
    assert found["product"]["flops"] == 2 * 2 * 4 * 8
    assert found["counted"]["flops"] == 7 * 4, "without a rule, the call runs on unsharded operands"
    assert found["kernel"]["flops"] == 11
    assert found["estimate"]["flops"] == 123
    seconds = {
        name: each["cost"]["memory_seconds"] for name, each in found.items() if "seconds" in each.get("cost", {})
    }
    assert seconds["rows"] / seconds["counted"] == pytest.approx(8 / 3, rel=1e-3)
    assert seconds["estimate"] / seconds["counted"] == pytest.approx(6 / 3, rel=1e-3)


def test_ops_without_a_cost_are_named(found: dict[str, dict[str, Any]]) -> None:
    named = {name: each["cost"]["unpriced"] for name, each in found.items() if "unpriced" in each.get("cost", {})}
    assert {name: names for name, names in named.items() if names} == {
        "unknown": ["own.unknown"],
        "handle": ["own.open", "own.read"],
        "other kernel": ["@tpu_custom_call (other)"],
    }


def test_mistakes_in_costs_and_rules_are_reported_at_the_op(found: dict[str, dict[str, Any]]) -> None:
    assert found["wrong cost"]["code"] == "SDY-T218"
    assert found["wrong cost"]["message"] == "the cost of own.pair: expected FLOPs, an OpCost or None, got 'much'"
    rule = found["misshapen"]["load"]
    assert (rule["code"], rule["line"]) == ("SDY-R004", 4), "when the program is read"


def test_a_missing_kernel_points_to_its_registration(found: dict[str, dict[str, Any]]) -> None:
    missing = found["unknown"]["verify"]
    assert missing["code"] == "SDY-X002"
    assert "kernels=" in missing["hint"]
    assert "the same function" in str(found["other kernel"]["verify"])  # a function of its operands, without a kernel


COMMANDS = [
    ["cost", "--on", "h100"],
    ["search", "--on", "h100", "--time-limit", "5"],
    ["lint"],
    ["check", "--contract"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_that_price_a_program_name_ops_without_a_cost(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "contract.toml").write_text("bytes_sent = 900\n")
    program = tmp_path / "own.mlir"
    program.write_text("""sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "own.unknown"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
""")
    contract = [str(tmp_path / "contract.toml")] if command[0] == "check" else []
    arguments = [sys.executable, "-m", "sdy", *command, *contract, "--load", str(tmp_path / "own.py"), str(program)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert "remark: no cost is known for own.unknown" in done.stderr
    assert "[SDY-T219]" in done.stderr
    assert "Traceback" not in done.stderr
