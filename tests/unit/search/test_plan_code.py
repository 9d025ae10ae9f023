"""The rules of a plan for a JAX program, the lines of code with them, and what is unusual about the plan."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import sdy
from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import CollectiveStatistics, Statistics
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.program.program import Program
from sdy.search.plans.plan import ShardingPlan
from sdy.search.plans.xla_check import XlaCheck

MESH = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


UNTYPED: Any = jax


class Moments(NamedTuple):
    """The state of an optimizer."""

    count: Any
    mu: Any


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def sgd(params: Any, state: Moments, x: Any) -> Any:
    def loss(params: Any) -> Any:
        y = x
        for block in params["blocks"]:
            y = y + jax.nn.relu(y @ block["up"]) @ block["down"]
        return jnp.mean(y**2)

    gradients = UNTYPED.grad(loss)(params)
    mu = jax.tree.map(decayed, state.mu, gradients)
    return jax.tree.map(jnp.subtract, params, mu), Moments(state.count + 1, mu)


def decayed(old: Any, new: Any) -> Any:
    return 0.9 * old + new


def layer(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


PARAMS = {"blocks": [{"up": shape(64, 256), "down": shape(256, 64)} for _ in range(3)]}
ARGUMENTS = (PARAMS, Moments(shape(), PARAMS), shape(32, 64))
SPECS = {"up": "P(None, 'model')", "down": "P('model', None)"}


@cache
def plan() -> ShardingPlan[Program[Any]]:
    """Return a plan in which all is fixed: a search has nothing to choose."""
    trees = ("params['blocks']", "state.mu['blocks']", "result[0]['blocks']", "result[1].mu['blocks']")
    fixed = {f"{tree}[{layer}]['{key}']": SPECS[key] for tree in trees for layer in range(3) for key in SPECS}
    program = sdy.from_jax(sgd, *ARGUMENTS)
    return program.search(mesh="data=4,model=2", fix={**fixed, "x": "P('data')"}, constraints=0, time_limit=5)


def test_rules_fold_layers_and_the_state_of_the_optimizer() -> None:
    assert plan().rules == {"*.up": "P(None, 'model')", "*.down": "P('model')", "*": "P('data')"}
    assert plan().to_json()["rules"] == plan().rules


def test_the_code_gives_the_function_the_shardings_of_the_plan() -> None:
    names: dict[str, Any] = {"jax": jax, "sdy": sdy, "P": P, "step": sgd}
    names |= dict(zip(("params", "state", "x"), ARGUMENTS, strict=True))
    code = plan().code.replace("jax.make_mesh", "jax.sharding.AbstractMesh")  # the devices need not exist
    assert len(code.splitlines()) <= 25
    exec(code, names)
    lowered = sdy.from_jax(names["step"], *ARGUMENTS)
    assert 'out_shardings=(placed["params"], placed["state"])' in code
    assert lowered.cost("tpu_v5e").bytes_sent == plan().program.cost("tpu_v5e").bytes_sent > 0


@pytest.mark.parametrize("tree", [ARGUMENTS, {"params": PARAMS}, {"state": ARGUMENTS[1], "x": shape(8, 64)}])
def test_apply_to_places_all_arguments_or_some_of_them_by_name(tree: Any) -> None:
    found = plan().apply_to(tree)
    flat = UNTYPED.tree_util.tree_leaves_with_path(found)
    specs = {UNTYPED.tree_util.keystr(path, simple=True, separator="."): sharding.spec for path, sharding in flat}
    assert {spec for path, spec in specs.items() if path.endswith("up")} <= {P(None, "model")}
    assert {spec for path, spec in specs.items() if path.endswith("down")} <= {P("model")}
    assert {spec for path, spec in specs.items() if path.endswith("count")} <= {P()}
    assert {spec for path, spec in specs.items() if path in ("x", "2")} <= {P("data")}
    assert jax.tree.structure(found) == jax.tree.structure(tree)


def test_apply_to_takes_one_argument_and_another_mesh() -> None:
    mesh = AbstractMesh((2, 2), ("data", "model"))
    found = plan().apply_to(PARAMS, mesh)
    assert found["blocks"][1]["up"] == NamedSharding(mesh, P(None, "model"))


def test_logical_axes_have_rules() -> None:
    # as `flax.linen.get_partition_spec` returns them
    names = {"blocks": [{"up": P("embed", "mlp"), "down": P("mlp", "embed")}] * 3}
    assert plan().logical_axis_rules(names) == [("mlp", "model"), ("embed", None)]
    twice = {"blocks": [{"down": P("mlp", "mlp")}]}  # the first of the dims is sharded
    assert plan().logical_axis_rules({"params": twice}) == [("mlp", "model")]
    square = {"blocks": [{"up": P("mlp", "mlp"), "down": P("mlp", None)}] * 3}
    with pytest.raises(sdy.SdyError, match=r"mlp is sharded along model in blocks.0.down, and not in") as raised:
        plan().logical_axis_rules(square)
    assert raised.value.diagnostics[0].code == "SDY-T266"


def test_a_tree_that_is_no_argument_is_refused() -> None:
    with pytest.raises(sdy.SdyError, match="the tree has the structure of no argument of the program") as raised:
        plan().apply_to({"layers": [shape(4, 4)]})
    assert raised.value.diagnostics[0].code == "SDY-T259"


def first_and_last(w: Any, _unused: Any, x: Any) -> Any:
    return x @ w


def test_arguments_that_are_not_used_leave_no_doubt_which_is_which() -> None:
    arguments = shape(64, 64), shape(8), shape(32, 64)
    fixed = {"w": "P()", "x": "P('data')", "result": "P('data')"}
    found = sdy.from_jax(first_and_last, *arguments).search(mesh="data=2", fix=fixed, constraints=0, time_limit=5)
    assert 'in_shardings=(placed["w"], None, placed["x"])' in found.code
    assert [each.spec for each in found.apply_to(arguments)] == [P(), P(), P("data")]
    assert found.apply_to({"x": arguments[2]})["x"].spec == P("data")
    with pytest.raises(sdy.SdyError, match="no argument") as raised:
        found.apply_to(arguments[:2])
    assert raised.value.diagnostics[0].hint == "pass a dict of arguments by name: w, x"


def test_the_report_has_rules_in_place_of_a_row_per_leaf() -> None:
    report = plan().report()
    assert '"*.up": P(None, "model"),' in report
    assert "params['blocks']" not in report
    assert len(report.splitlines()) <= 60


def test_a_plan_says_what_is_unusual_about_it() -> None:
    program = sdy.from_jax(layer, shape(64, 64), shape(32, 64))
    fixed = {"w": "P()", "x": "P('data')", "result": "P('data')"}
    unusual = list(program.search(mesh="data=4,model=2", fix=fixed, constraints=0, time_limit=5).unusual())
    assert unusual == [
        "Unusual: nothing of w is sharded; each device holds all of it.",
        'Unusual: no argument and no result is sharded along "model".',
    ]
    assert list(plan().unusual()) == []


def test_a_state_is_returned_as_it_is_passed() -> None:
    program = sdy.from_jax(sgd, *ARGUMENTS)
    fixed = {f"{tree}['blocks'][0]['up']": "P('data', 'model')" for tree in ("params", "state.mu")}
    found = program.search(mesh="data=4,model=2", fix=fixed, time_limit=5)
    passed = {name.replace("params", "result[0]"): spec for name, spec in found.in_shardings.items()}
    assert passed["result[0]['blocks'][0]['up']"] == "P('data', 'model')"
    assert all(spec == passed[name] for name, spec in found.out_shardings.items() if name.startswith("result[0]"))
    assert len([name for name in found.out_shardings if name.startswith("result[0]")]) == 6
    assert "Results that are the next values of arguments are sharded like these." in found.report(200)


def test_the_next_plan_is_tried_if_xla_sends_more_bytes_than_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def check(plan: ShardingPlan[Program[Any]], **_: Any) -> XlaCheck:
        tried.append(plan.program)
        other, before, planned = (sending(each) for each in (0.0, 1e9, 2e9 if len(tried) == 1 else 1e8))
        return XlaCheck(other, before, other, planned, other, planned)

    monkeypatch.setattr(ShardingPlan, "check_xla", check)
    found = sdy.from_jax(layer, shape(4096, 4096), shape(8192, 4096)).search(mesh="data=2", time_limit=30)
    assert [found.program is each for each in tried] == [False, True]
    assert found.xla is not None
    assert found.xla.most_bytes is None


def sending(sent: float) -> PartitionerResult:
    """Return what a partitioner makes of a program in which each device sends some bytes."""
    statistics = CollectiveStatistics(1, 1, sent)
    return PartitionerResult("", Statistics({CollectiveKind.ALL_REDUCE: statistics}, 0, 0))


def test_xla_tries_the_plan_of_a_program_from_jax() -> None:
    program = sdy.from_jax(layer, shape(64, 64), shape(32, 64))
    fixed = {"w": "P('data', None)", "x": "P()", "result": "P()"}
    found = program.search(mesh="data=2", fix=fixed, constraints=0, time_limit=60)
    assert found.xla is not None
    assert found.xla.xla_plan.statistics is not None
    assert found.xla.xla_plan.statistics.runs == 1
    assert "bytes sent by XLA" in found.report()
    assert plan().xla is None  # its time limit is short


def test_a_plan_for_a_text_without_names_has_no_rules() -> None:
    text = "func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> { return %a : tensor<8x8xf32> }"
    found = sdy.Program.from_text(text).search(mesh="x=2", fix={"%a": "P('x')"}, time_limit=5)
    assert (found.rules, found.code) == ({}, "")
    assert "%a" in found.report()
