"""Tests of the attributes of the `sdy` dialect in MLIR text: both long forms, aliases, locations of mistakes."""

from __future__ import annotations

import pytest
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.sdy.attrs import ATTRIBUTES, MeshAttr, PropagationEdgesAttr
from sdy.model.axis import AxisRef
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationStep

CONTEXT = make_context(allow_unregistered=True)

LONG_FORMS = [
    '#sdy.mesh<["x"=2]>',
    '#sdy.sharding<@m, [{"x"}]>',
    '#sdy.sharding_per_value<[<@m, [{"x"}]>]>',
    "#sdy.op_sharding_rule<([i])->([i]) {i=8}>",
    '#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>',
    '#sdy<manual_axes{"x", "y"}>',
    '#sdy<axis_ref_list{"x", "y":(1)2}>',
    '#sdy<list_of_axis_ref_lists[{"x"}, {}]>',
    '#sdy<all_to_all_param_list[{"x"}: 0->1]>',
    '#sdy<all_to_all_param{"x"}: 0->1>',
    '#sdy<mesh_axis"x"=2>',
    '#sdy<axis_ref"x":(1)2>',
    "#sdy<sub_axis_info(1)2>",
    '#sdy<dimension_sharding{"x", ?}p1>',
    "#sdy<tensor_mapping[i, jk]>",
    '#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}>',
    '#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>',
]


def attribute(text: str, before: str = "") -> Attribute:
    module = parse_module(f'{before}\n"some.op"() {{a = {text}}} : () -> ()', "file.mlir", context=CONTEXT)
    op = module.body.block.last_op
    assert op is not None
    return op.attributes["a"]


def error_in(text: str, before: str = "") -> Diagnostic:
    with pytest.raises(SdyError) as caught:
        attribute(text, before)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("text", LONG_FORMS)
def test_long_forms_print_as_they_are(text: str) -> None:
    assert str(attribute(text)) == text


def test_every_attribute_is_covered() -> None:
    assert {type(attribute(text)) for text in LONG_FORMS} == set(ATTRIBUTES)


def test_both_long_forms_are_parsed() -> None:
    assert attribute('#sdy<sharding<@m, [{"x"}]>>') == attribute('#sdy.sharding<@m, [{"x"}]>')
    assert attribute('#sdy<sharding <@m, [{"x"}]> >') == attribute('#sdy.sharding<@m, [{"x"}]>')
    assert attribute('#sdy.manual_axes{"x"}') == attribute('#sdy<manual_axes{"x"}>')


def test_the_dot_form_rejects_a_blank_before_its_body() -> None:
    assert error_in("#sdy.mesh <[]>").code == "SDY-P110"
    assert error_in("#sdy.mesh // why\n<[]>").code == "SDY-P110"


def test_the_angle_form_rejects_text_after_its_body() -> None:
    assert error_in('#sdy<manual_axes{"x"} more>').span is not None
    assert error_in('#sdy<axis_ref"x" more>').code == "SDY-P101"


def test_a_body_must_begin_with_a_bracket() -> None:
    assert error_in('#sdy.mesh["x"=2]').code == "SDY-P101"
    assert error_in("#sdy<manual_axes 3>").code == "SDY-P110"


def test_aliases_of_nested_attributes_are_resolved() -> None:
    before = '#grid = #sdy.mesh<["x"=2]>\n#cut = #sdy.sharding<@m, [{"x"}]>'
    assert str(attribute("#sdy.sharding<mesh #grid, []>", before)) == '#sdy.sharding<mesh<["x"=2]>, []>'
    expected = '#sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, []>]>'
    assert str(attribute("#sdy.sharding_per_value<[#cut, <@m, []>]>", before)) == expected
    assert error_in("#sdy.sharding_per_value<[#grid]>", before).code == "SDY-P108"
    assert error_in("#sdy.sharding_per_value<[#none]>", before).code == "SDY-P108"


def test_brackets_in_strings_and_comments_are_ignored() -> None:
    text = '#sdy.sharding<@m, [{"a>b]"} // ]}>\n]>'
    assert str(attribute(text)) == '#sdy.sharding<@m, [{"a>b]"}]>'


@pytest.mark.parametrize(
    "marked",
    [
        '#sdy.sharding<@m, [{"x"}«phigh»]>',
        '#sdy.sharding<@m, [{"x"«]»>',
        '#sdy.sharding<@m, [{"x"}]«}»',  # what follows is taken for a part of it
        '#sdy<dimension_sharding{"x"}«high»>',
        '#sdy.mesh<[«"x"=0»]>',
    ],
)
def test_mistakes_have_locations_in_the_file(marked: str) -> None:
    before, rest = f'"some.op"() {{a = {marked}'.split("«")
    stretch, _ = rest.split("»")
    span = error_in(marked.replace("«", "").replace("»", "").removesuffix("}")).span
    assert span is not None
    assert (span.file, span.line, span.column, span.length) == ("file.mlir", 2, len(before) + 1, len(stretch))


def test_attributes_built_in_python_are_verified() -> None:
    with pytest.raises(SdyError, match='mesh has two axes named "x"'):
        MeshAttr(Mesh((MeshAxis("x", 2), MeshAxis("x", 2))))
    with pytest.raises(SdyError, match="must have a size of at least 1, got 0"):
        MeshAttr(Mesh((MeshAxis("x", 0),)))
    node = EdgeNode(EdgeNodeKind.OPERAND, 0)
    with pytest.raises(SdyError, match="flows from operand-0 to itself"):
        PropagationEdgesAttr((PropagationStep(0, (AxisFlow(AxisRef("x"), node, (node,)),)),))


@pytest.mark.parametrize(
    ("op", "column"),
    [
        ("sdy.mesh @grid = #none", 18),
        ("%0 = sdy.reshard %x <@m, [{}}> : tensor<8xf32>", 29),
        ('%0 = sdy.all_reduce most {"x"} %x out_sharding=<@m, [{}]> : tensor<8xf32>', 21),
        ("%0 = sdy.propagation_barrier %x allowed_direction=forward : tensor<8xf32>", 51),
        ("%0 = sdy.propagation_barrier %x allowed_direction={} : tensor<8xf32>", 51),
        ("sdy.manual_computation() out_shardings=[] manual_axes={} () { sdy.return } : () -> ()", 26),
        ("sdy.manual_computation() in_shardings=<[]> out_shardings=[] manual_axes={} () {} : () -> ()", 39),
        ("sdy.manual_computation() in_shardings=#sdy.sharding_per_value<[]> manual_axes={} () {} : () -> ()", 39),
    ],
)
def test_mistakes_in_ops_have_locations(op: str, column: int) -> None:
    with pytest.raises(SdyError) as caught:
        parse_module(f'%x = "some.op"() : () -> tensor<8xf32>\n{op}', context=CONTEXT)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column) == (2, column)


def test_enum_keywords_may_be_quoted_or_defaulted() -> None:
    text = (
        "func.func @f(%x: tensor<8xf32>) {\n"
        '  %0 = sdy.propagation_barrier %x allowed_direction="NONE" : tensor<8xf32>\n'
        '  %1 = sdy.all_reduce sum {"x"} %x out_sharding=<@m, [{}]> : tensor<8xf32>\n'
        '  %2 = "sdy.all_reduce"(%x) <{reduction_axes = #sdy<axis_ref_list{}>, out_sharding = #sdy.sharding<@m, [{}]>}>'
        " : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  return\n}"
    )
    module = parse_module(text, context=CONTEXT)
    printed = print_module(module)
    assert "allowed_direction=NONE" in printed
    assert '%1 = sdy.all_reduce {"x"} %arg0 out_sharding' in printed
    assert print_module(module, generic=True).count("reduction_op = 0 : i32") == 2
