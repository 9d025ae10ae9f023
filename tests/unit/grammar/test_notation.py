"""Parsing and writing of the sharding notation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdy.grammar import parse, write
from sdy.grammar.parse import Notation, parse_axis_ref, parse_mesh, parse_rule, parse_sharding
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.collective import AllToAllParam
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationStep
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

X, Y = AxisRef("x"), AxisRef("y", SubAxis(2, 4))


def test_a_mesh() -> None:
    assert parse_mesh('<["x"=2, "y"=3]>') == Mesh((MeshAxis("x", 2), MeshAxis("y", 3)))
    assert parse_mesh("<[], device_ids=[5]>") == Mesh((), (5,))
    assert parse_mesh('<["x"=2], device_ids=[1, 0]>').device_ids == (1, 0)


def test_the_identity_order_of_devices_is_dropped() -> None:
    assert parse_mesh('<["p"=3, "q"=2], device_ids=[0, 1, 2, 3, 4, 5]>') == parse_mesh('<["p"=3, "q"=2]>')
    assert parse_mesh('<["a"=1], device_ids=[0]>') == parse_mesh('<["a"=1]>')
    assert parse_mesh("<[], device_ids=[0]>") != parse_mesh("<[]>")


def test_a_sharding() -> None:
    text = '<@m, [{"x", ?}p1, {}, {?}, {"y":(2)4}p0], replicated={"z"}, unreduced=max{"w"}>'
    assert parse_sharding(text) == TensorSharding(
        "m",
        (
            DimSharding((X,), is_closed=False, priority=1),
            DimSharding(),
            DimSharding(is_closed=False),
            DimSharding((Y,), priority=0),
        ),
        (AxisRef("z"),),
        (AxisRef("w"),),
        ReductionKind.MAX,
    )


def test_a_rule() -> None:
    text = "<([i, jk], [])->([z_1]) {i=2} reduction={i} need_replication={j} permutation={k} blocked_propagation={i}>"
    i, j, k = FactorIndex(0), FactorIndex(1), FactorIndex(2)
    assert parse_rule(text) == OpShardingRule(
        (2,), (((i,), (j, k)), ()), (((FactorIndex(18),),),), (i,), (j,), (k,), (i,)
    )


def test_an_empty_dim_mapping_parses_and_prints_as_in_shardy() -> None:
    assert parse_rule("<([i,])->([,])>").operands == (((FactorIndex(0),), ()),)
    assert parse_rule("<([i,])->([,])>").results == (((), ()),)
    assert write.write_rule(parse_rule("<([i,])->([])>")) == "<([i, #sdy.dim_mapping])->([])>"


def test_only_the_first_symbol_of_a_factor_set_entry_counts() -> None:
    assert parse_rule("<([ij])->([ij]) {i=2, j=2} permutation={ji}>").permutation == (FactorIndex(1),)


def test_collective_parameters_and_edges() -> None:
    assert parse.ALL_TO_ALL_PARAMS.parse('[{"x", "y":(2)4}: 0->2]') == (AllToAllParam((X, Y), 0, 2),)
    assert parse.PROPAGATION_EDGES.parse('<[{step-4 = [{"x" = result-0 -> [operand-1]}]}]>') == (
        PropagationStep(4, (AxisFlow(X, EdgeNode(EdgeNodeKind.RESULT, 0), (EdgeNode(EdgeNodeKind.OPERAND, 1),)),)),
    )


CANONICAL: list[tuple[Notation[object], Callable[..., str], list[str]]] = [
    (
        parse.MESH,
        str,
        ["<[]>", "<[], device_ids=[0]>", '<["x"=2]>', '<["x"=2, "a b"=3], device_ids=[5, 4, 3, 2, 1, 0]>'],
    ),
    (parse.MESH_AXIS, str, ['"x"=2']),
    (parse.AXIS_REF, str, ['"x"', '"x":(1)2', r'"a\22\\\0A"']),
    (parse.SUB_AXIS, str, ["(1)2", "(-3)0"]),
    (parse.AXIS_LIST, write.write_axis_list, ["{}", '{"x", "y":(2)4}']),
    (parse.AXES_PER_DIM, write.write_axes_per_dim, ["[]", '[{"x"}, {}]']),
    (parse.MANUAL_AXES, write.write_manual_axes, ["{}", '{"x", "x", "a"}']),
    (parse.DIM_SHARDING, str, ["{}", "{?}", '{"x"}p0', '{"x", "y", ?}p12']),
    (
        parse.TENSOR_SHARDING,
        write.write_sharding,
        [
            "<@m, []>",
            '<@"a mesh", [{}, {"x"}]>',
            '<mesh<["q"=6]>, [{"q":(2)3}]>',
            '<mesh<["t"=3], device_ids=[2, 0, 1]>, [{"t"}]>',
            '<mesh<[]>, [{?}], replicated={"x"}>',
            '<@m, [{}], replicated={"x":(1)2}, unreduced=min{"x":(2)2, "y"}>',
        ],
    ),
    (parse.SHARDING_LIST, write.write_sharding_list, ["[]", "[<@m, [{}]>, <@n, []>]"]),
    (parse.SHARDING_PER_VALUE, write.write_sharding_per_value, ["<[]>", "<[<@m, [{}]>, <@n, []>]>"]),
    (
        parse.OP_SHARDING_RULE,
        write.write_rule,
        [
            "<([], [])->([])>",
            "<([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=6, k=10, l=4} reduction={l} blocked_propagation={k}, custom>",
            "<([zz_1])->([z_2i]) {i=-1} need_replication={i, j} permutation={k}>",
        ],
    ),
    (parse.TENSOR_MAPPING, write.write_tensor_mapping, ["[]", "[i]", "[i, jk]"]),
    (parse.ALL_TO_ALL_PARAM, write.write_all_to_all_param, ['{"x"}: 0->-1']),
    (parse.ALL_TO_ALL_PARAMS, write.write_all_to_all_params, ["[]", '[{"x"}: 0->2, {"y", "z":(1)2}: 1->3]']),
    (
        parse.PROPAGATION_EDGES,
        write.write_propagation_edges,
        [
            '<[{step-0 = [{"u" = result-0 -> [operand-0, operand-1]}]}, '
            '{step-4 = [{"v":(1)2 = operand--1 -> [result-0]}, {"u" = operand-0 -> [result-0]}]}]>'
        ],
    ),
    (parse.PROPAGATION_STEP, write.write_propagation_step, ['{step-0 = [{"u" = result-0 -> [operand-0]}]}']),
    (parse.AXIS_FLOW, write.write_axis_flow, ['{"u" = result-0 -> [operand-0]}']),
]


@pytest.mark.parametrize(("notation", "written", "texts"), CANONICAL, ids=[entry[0].rule for entry in CANONICAL])
def test_canonical_text_is_written_back(
    notation: Notation[object], written: Callable[..., str], texts: list[str]
) -> None:
    for text in texts:
        assert written(notation.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('<@m,[{"x",?}p1],unreduced={"z"},replicated={"y"}>', '<@m, [{"x", ?}p1], replicated={"y"}, unreduced={"z"}>'),
        ('<@m, [{}], unreduced=sum{"z"}>', '<@m, [{}], unreduced={"z"}>'),
        ('<@m, [{}], unreduced{"z"}>', '<@m, [{}], unreduced={"z"}>'),
        ('<@"m", [{"x"} p2]>', '<@m, [{"x"}p2]>'),
        ('< mesh <["x"=0x2]>, // comment >\n [{ "x" : ( 1 ) 2 }] >', '<mesh<["x"=2]>, [{"x":(1)2}]>'),
        ('<mesh#sdy.mesh<["x"=2]>, []>', '<mesh<["x"=2]>, []>'),
        ('<mesh#sdy<mesh<["x"=2]>>, []>', '<mesh<["x"=2]>, []>'),
    ],
)
def test_lenient_text_is_written_canonically(text: str, canonical: str) -> None:
    assert write.write_sharding(parse_sharding(text)) == canonical


def test_lenient_rules() -> None:
    text = "<( [i] )->([i]){i=8} reduction={} need_replication= permutation={i} , custom >"
    assert write.write_rule(parse_rule(text)) == "<([i])->([i]) {i=8} permutation={i}, custom>"
    assert write.write_rule(parse_rule("<([])->([]) {}>")) == "<([])->([])>"


def test_long_forms_are_allowed_in_lists() -> None:
    text = "[#sdy.sharding<@m, []>, <@n, []>, #sdy< sharding <@o, []>>]"
    assert [sharding.mesh for sharding in parse.SHARDING_LIST.parse(text)] == ["m", "n", "o"]


def test_aliases_are_resolved() -> None:
    known = {"s": parse_sharding("<@m, [{}]>"), "g": parse_mesh('<["x"=2]>')}
    assert parse.SHARDING_LIST.read("[#s, <mesh #g, []>]", known.get) == (
        known["s"],
        TensorSharding(parse_mesh('<["x"=2]>'), ()),
    )


def test_names_can_have_any_byte() -> None:
    assert parse_axis_ref(r'"\22\\\n\t\C3\A9"') == AxisRef('"\\\n\té')
    assert str(AxisRef('"\\\n\té')) == r'"\22\\\0A\09\C3\A9"'
    assert str(parse_axis_ref(r'"\FF"')) == r'"\FF"'  # no UTF-8, and kept


def test_equal_texts_have_the_identical_value() -> None:
    assert parse_sharding('<@once, [{"x"}]>') is parse_sharding('<@once, [{"x"}]>')
