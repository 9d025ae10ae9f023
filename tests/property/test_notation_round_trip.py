"""Written text parses to the same value, for every start rule, and is written again as the same text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st
from support.model import strategies as some

from sdy.grammar import parse, write
from sdy.grammar.any_form import BUILDERS
from sdy.model.axis import AxisList, AxisRef, SubAxis
from sdy.model.collective import AllToAllParam
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, PropagationEdges, PropagationStep
from sdy.model.rule import OpShardingRule, TensorMapping
from sdy.model.sharding import DimSharding, TensorSharding

T = TypeVar("T")


def comes_back(notation: parse.Notation[T], written: Callable[[T], str], value: T) -> None:
    text = written(value)
    assert notation.parse(text) == value
    assert written(notation.parse(text)) == text


@given(some.meshes())
def test_meshes_round_trip(mesh: Mesh) -> None:
    comes_back(parse.MESH, str, mesh)


@given(some.meshes())
def test_the_text_of_a_mesh_is_its_notation(mesh: Mesh) -> None:
    assert parse.parse_mesh(str(mesh)) == mesh


def test_the_text_of_a_sharding_is_its_notation() -> None:
    text = '<@"a mesh", [{"x", ?}p1, {}], replicated={"y":(1)2}, unreduced=max{"z"}>'
    assert str(parse.parse_sharding(text)) == text
    assert f"{parse.parse_sharding(text).dims[0]}" == '{"x", ?}p1'


@given(st.builds(MeshAxis, some.names, st.integers(1, 2**63 - 1)))
def test_mesh_axes(axis: MeshAxis) -> None:
    comes_back(parse.MESH_AXIS, str, axis)


@given(some.axis_refs)
def test_axis_refs(ref: AxisRef) -> None:
    comes_back(parse.AXIS_REF, str, ref)


@given(some.sub_axes)
def test_sub_axes(sub_axis: SubAxis) -> None:
    comes_back(parse.SUB_AXIS, str, sub_axis)


@given(some.axis_lists)
def test_axis_lists(axes: AxisList) -> None:
    comes_back(parse.AXIS_LIST, write.write_axis_list, axes)


@given(st.lists(some.axis_lists, max_size=3).map(tuple))
def test_axes_per_dim(axes: tuple[AxisList, ...]) -> None:
    comes_back(parse.AXES_PER_DIM, write.write_axes_per_dim, axes)


@given(st.lists(some.names, max_size=3).map(tuple))
def test_manual_axes(axes: tuple[str, ...]) -> None:
    comes_back(parse.MANUAL_AXES, write.write_manual_axes, axes)


@given(some.dim_shardings)
def test_dim_shardings(dim: DimSharding) -> None:
    comes_back(parse.DIM_SHARDING, str, dim)


@given(some.tensor_shardings())
def test_tensor_shardings(sharding: TensorSharding) -> None:
    comes_back(parse.TENSOR_SHARDING, write.write_sharding, sharding)


@given(st.lists(some.tensor_shardings(), max_size=3).map(tuple))
def test_lists_of_shardings(shardings: tuple[TensorSharding, ...]) -> None:
    comes_back(parse.SHARDING_LIST, write.write_sharding_list, shardings)
    comes_back(parse.SHARDING_PER_VALUE, write.write_sharding_per_value, shardings)


@given(some.rules)
def test_rules(rule: OpShardingRule) -> None:
    comes_back(parse.OP_SHARDING_RULE, write.write_rule, rule)


@given(some.tensor_mappings)
def test_tensor_mappings(mapping: TensorMapping) -> None:
    comes_back(parse.TENSOR_MAPPING, write.write_tensor_mapping, mapping)


@given(some.all_to_all_params)
def test_all_to_all_params(param: AllToAllParam) -> None:
    comes_back(parse.ALL_TO_ALL_PARAM, write.write_all_to_all_param, param)


@given(st.lists(some.all_to_all_params, max_size=3).map(tuple))
def test_lists_of_all_to_all_params(params: tuple[AllToAllParam, ...]) -> None:
    comes_back(parse.ALL_TO_ALL_PARAMS, write.write_all_to_all_params, params)


@given(some.propagation_edges)
def test_propagation_edges(edges: PropagationEdges) -> None:
    comes_back(parse.PROPAGATION_EDGES, write.write_propagation_edges, edges)


@given(some.propagation_steps)
def test_propagation_steps(step: PropagationStep) -> None:
    comes_back(parse.PROPAGATION_STEP, write.write_propagation_step, step)


@given(some.axis_flows())
def test_axis_flows(flow: AxisFlow) -> None:
    comes_back(parse.AXIS_FLOW, write.write_axis_flow, flow)


def test_every_start_rule_has_a_notation() -> None:
    named = [name.lower() for name, value in vars(parse).items() if isinstance(value, parse.Notation)]
    assert sorted(named) == sorted(BUILDERS)
