"""Mistakes in calls of `sdy.register_*`, and what is registered right. One new process: registration is permanent."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = '''\
import dataclasses
import json

import sdy
from sdy.extend import KernelTable, OpCost, OpTable, RuleBuilder, pointwise
from sdy.dialects.stablehlo.elementwise import SineOp
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.passes import ModulePass
from xdsl.traits import Pure

TEXT = """sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = OP(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
numbers = iter(range(999))


def own_dialect():
    dialect_name = f"d{next(numbers)}"

    @irdl_op_definition
    class Op(IRDLOperation):
        name = f"{dialect_name}.op"
        x = operand_def(TensorType)
        result = result_def(TensorType)
        traits = traits_def(Pure())

    return Dialect(dialect_name, [Op]), Op


def asked(op, **question):
    program = sdy.Program.from_text(TEXT.replace("OP", op), "f.mlir")
    program.verify()
    program.cost("h100")
    return program.verify().verdict.value


def registered(entry, table=OpTable, of="rules"):
    dialect, op = own_dialect()
    filled = table()
    filled.of(op)(entry)
    sdy.register_dialect(dialect, **{of: filled})
    return asked(f'"{op.name}"')


def as_argument(value, of):
    sdy.register_dialect(own_dialect()[0], **{of: value})


def call(*args, **options):
    target = f"c{next(numbers)}"
    sdy.register_custom_call(target, *args, **options)
    return asked(f"stablehlo.custom_call @{target}")


def twice(function):
    function()
    function()


def pass_class(**members):
    base = {"name": f"p{next(numbers)}", "apply": lambda self, ctx, op: None}
    return dataclasses.dataclass(frozen=True)(type("P", (ModulePass,), {**base, **members}))


class Unnamed(ModulePass):
    def apply(self, ctx, op):
        pass


def fails(*_):
    raise ZeroDivisionError("a mistake")


def rule(*sizes, rank=2):
    builder = RuleBuilder((rank,), (rank,))
    for dim, size in enumerate(sizes):
        builder.factor(size, (dim,), (dim,))
    return builder.build()


def right_dialect():
    dialect, op = own_dialect()
    rules, kernels, costs = OpTable(), KernelTable(), OpTable()
    rules.of(op)(lambda op: rule(8, 8))
    kernels.of(op)(lambda op: pointwise(lambda x: x * 2))
    costs.of(op)(lambda op: OpCost(flops=3))
    sdy.register_dialect(dialect, rules=rules, kernels=kernels, costs=costs)
    return asked(f'"{op.name}"')


dialect = own_dialect()[0]
again = pass_class()
CASES = {
    "dialect is text": lambda: sdy.register_dialect("toy"),
    "dialect is a class": lambda: sdy.register_dialect(Dialect),
    "rules are a dict": lambda: as_argument({SineOp: fails}, "rules"),
    "kernels are a dict": lambda: as_argument({SineOp: fails}, "kernels"),
    "costs are a dict": lambda: as_argument({SineOp: 3}, "costs"),
    "rules are a function": lambda: as_argument(fails, "rules"),
    "dialect twice": lambda: twice(lambda: sdy.register_dialect(dialect)),
    "dialect of sdy": lambda: sdy.register_dialect(Dialect("stablehlo")),
    "rule of an op of sdy": lambda: as_argument(_table(SineOp, fails), "rules"),
    "rule is a number": lambda: registered(3),
    "rule is a rule": lambda: registered(rule(8, 8)),
    "rule takes nothing": lambda: registered(lambda: rule(8, 8)),
    "rule takes two": lambda: registered(lambda op, more: rule(8, 8)),
    "rule raises": lambda: registered(fails),
    "rule returns text": lambda: registered(lambda op: "[i, j]"),
    "rule of another rank": lambda: registered(lambda op: rule(8, rank=1)),
    "kernel is text": lambda: registered("kernel", KernelTable, "kernels"),
    "kernel takes nothing": lambda: registered(lambda: pointwise(abs), KernelTable, "kernels"),
    "kernel takes two arrays": lambda: registered(lambda op: pointwise(lambda x, y: x), KernelTable, "kernels"),
    "kernel returns nothing": lambda: registered(lambda op: pointwise(lambda x: None), KernelTable, "kernels"),
    "kernel returns a list": lambda: registered(lambda op: pointwise(lambda x: x.tolist()), KernelTable, "kernels"),
    "kernel raises": lambda: registered(lambda op: pointwise(fails), KernelTable, "kernels"),
    "cost is a number": lambda: registered(7, OpTable, "costs"),
    "call of a number": lambda: sdy.register_custom_call(3),
    "call with a number as kernel": lambda: call(3),
    "call with a number as rule": lambda: call(abs, rule=3),
    "call with a rule as rule": lambda: call(abs, rule=rule(8, 8)),
    "call with text as flops": lambda: call(abs, flops="many"),
    "call with text as bytes": lambda: call(abs, bytes="many"),
    "call of negative flops": lambda: call(abs, flops=-2),
    "call of infinite bytes": lambda: call(abs, bytes=float("inf")),
    "call whose flops raise": lambda: call(abs, flops=fails),
    "call whose flops take nothing": lambda: call(abs, flops=lambda: 1),
    "call whose kernel takes nothing": lambda: call(lambda: 1),
    "call whose kernel returns a row": lambda: call(lambda x: x[:1]),
    "call whose kernel returns two": lambda: call(lambda x: (x, x)),
    "call whose kernel raises": lambda: call(fails),
    "call whose rule raises": lambda: call(abs, rule=fails),
    "call twice": lambda: twice(lambda: sdy.register_custom_call("twice", abs)),
    "call of sdy": lambda: sdy.register_custom_call("Sharding", abs),
    "pass is a number": lambda: sdy.register_pass(3),
    "pass is a function": lambda: sdy.register_pass(lambda module: module),
    "pass is an instance": lambda: sdy.register_pass(pass_class()()),
    "pass without a name": lambda: sdy.register_pass(Unnamed),
    "pass twice": lambda: twice(lambda: sdy.register_pass(again)),
    "pass of sdy": lambda: sdy.register_pass(pass_class(name="cse")),
    "right call": lambda: call(abs, rule=lambda op: rule(8, 8), flops=3, bytes=lambda op: 4.5),
    "right dialect": right_dialect,
    "wrong rule of a call": lambda: call(lambda x: x.cumsum(0), rule=lambda op: rule(8, 8)),
}


def _table(op, entry):
    table = OpTable()
    table.of(op)(entry)
    return table


found = {}
for name, case in CASES.items():
    try:
        found[name] = str(case())
    except sdy.SdyError as error:
        found[name] = f"{error.diagnostics[0].code} {error.diagnostics[0].message}"
    except ValueError as error:
        found[name] = f"ValueError {error}"
print(json.dumps(found))
'''
RAISED = "raised ZeroDivisionError: a mistake"
TYPE = "SDY-T213 sdy.register_"
EXPECTED = {
    "dialect is text": f"{TYPE}dialect: dialect: expected Dialect, got 'toy' (str)",
    "dialect is a class": f"{TYPE}dialect: dialect: expected Dialect, got <class",
    "rules are a dict": f"{TYPE}dialect: rules: expected OpTable, got {{",
    "kernels are a dict": f"{TYPE}dialect: kernels: expected OpTable, got {{",
    "costs are a dict": f"{TYPE}dialect: costs: expected OpTable, got {{",
    "rules are a function": f"{TYPE}dialect: rules: expected OpTable, got <function",
    "dialect twice": "ValueError a dialect named",
    "dialect of sdy": "ValueError a dialect named stablehlo already exists",
    "rule of an op of sdy": "ValueError a function for SineOp is already registered",
    "rule is a number": "SDY-T213 OpTable.of(Op): expected a function, got 3 (int)",
    "rule is a rule": "SDY-T213 OpTable.of(Op): expected a function, got OpShardingRule",
    "rule takes nothing": "SDY-R102 the sharding rule of",
    "rule takes two": "SDY-R102 the sharding rule of",
    "rule raises": "SDY-R102 the sharding rule of",
    "rule returns text": "SDY-R103 the sharding rule of",
    "rule of another rank": "SDY-R004 the sharding rule of",
    "kernel is text": "SDY-T213 OpTable.of(Op): expected a function, got 'kernel' (str)",
    "kernel takes nothing": "SDY-X111 creating the kernel of",
    "kernel takes two arrays": "SDY-X111 the kernel of",
    "kernel returns nothing": "SDY-X112 the kernel of",
    "kernel returns a list": "SDY-X112 the kernel of",
    "kernel raises": "SDY-X111 the kernel of",
    "cost is a number": "SDY-T213 OpTable.of(Op): expected a function, got 7 (int)",
    "call of a number": f"{TYPE}custom_call: target: expected str, got 3 (int)",
    "call with a number as kernel": f"{TYPE}custom_call: kernel: expected a function, got 3 (int)",
    "call with a number as rule": f"{TYPE}custom_call: rule: expected a function, got 3 (int)",
    "call with a rule as rule": f"{TYPE}custom_call: rule: expected a function, got OpShardingRule",
    "call with text as flops": f"{TYPE}custom_call: flops: expected int or float, got 'many' (str)",
    "call with text as bytes": f"{TYPE}custom_call: bytes: expected int or float, got 'many' (str)",
    "call of negative flops": "SDY-T218 the cost of @",
    "call of infinite bytes": "SDY-T218 the cost of @",
    "call whose flops raise": "SDY-T218 the cost of @",
    "call whose flops take nothing": "SDY-T218 the cost of @",
    "call whose kernel takes nothing": "SDY-X111 the kernel of @",
    "call whose kernel returns a row": "SDY-X112 the kernel of @",
    "call whose kernel returns two": "SDY-X112 the kernel of @",
    "call whose kernel raises": "SDY-X111 the kernel of @",
    "call whose rule raises": "SDY-R102 the sharding rule of @",
    "call twice": "ValueError the custom call @twice has a kernel already",
    "call of sdy": "ValueError the custom call @Sharding has a kernel already",
    "pass is a number": f"{TYPE}pass: kind: expected a class derived from xdsl.passes.ModulePass, got 3 (int)",
    "pass is a function": f"{TYPE}pass: kind: expected a class derived from xdsl.passes.ModulePass, got <function",
    "pass is an instance": f"{TYPE}pass: kind: expected a class derived from xdsl.passes.ModulePass, got P()",
    "pass without a name": f"{TYPE}pass: Unnamed.name: expected str, got None (NoneType)",
    "pass twice": "ValueError a pass called",
    "pass of sdy": "ValueError a pass called cse is already registered",
    "right call": "the same function",
    "right dialect": "the same function",
    "wrong rule of a call": "differs",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each case gave: a verdict, or the code and the message of its error."""
    file = tmp_path_factory.mktemp("registered") / "registered.py"
    file.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", EXPECTED)
def test_registration_is_checked_at_once_and_uses_with_a_location(name: str, found: dict[str, str]) -> None:
    assert found[name].startswith(EXPECTED[name])


def test_every_case_has_an_outcome(found: dict[str, str]) -> None:
    assert set(found) == set(EXPECTED)
    assert RAISED in found["rule raises"]
