"""Tests of invalid modules with shardings: the code, the line and the note of the first problem."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verification.verify_module import verify_module

CONTEXT = make_context(allow_unregistered=True)
HEAD = """
sdy.mesh @m = <["a"=2, "b"=2, "c"=4]>
sdy.mesh @n = <["a"=2, "b"=2, "c"=4]>
sdy.mesh @turned = <["a"=2, "b"=2, "c"=4], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @line = <["x"=2]>
sdy.mesh @one = <[], device_ids=[0]>
"""


def problem_in(text: str) -> Diagnostic | None:
    module = parse_module(HEAD + text, "file.mlir", context=CONTEXT)
    try:
        verify_module(module)
    except SdyError as error:
        return error.diagnostics[0]
    return None


def check(text: str, code: str | None) -> Diagnostic | None:
    """Check that `text` has one problem at the line marked by `<<<`, or none if `code` is None."""
    problem = problem_in(text.replace("<<<", ""))
    assert (problem and problem.code) == code, problem
    if problem is not None:
        assert problem.span is not None
        marked = next(number for number, line in enumerate((HEAD + text).split("\n"), 1) if "<<<" in line)
        assert problem.span.line == marked
    return problem


def in_function(body: str, argument: str = "") -> str:
    """Return a function of %x: tensor<8x8xf32>, with the sharding `argument` on @m."""
    attribute = f" {{sdy.sharding = #sdy.sharding<@m, {argument}>}}" if argument else ""
    return f"func.func @f(%x: tensor<8x8xf32>{attribute}) {{\n{body}\nreturn\n}}"


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ('sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>', None),
        ("sdy.sharding = #sdy.sharding_per_value<[]>", "SDY-S022"),
        ('sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>', "SDY-S031"),
        ("sdy.sharding = #sdy.sharding_per_value<[<@none, [{}, {}]>]>", "SDY-S001"),
        ("sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>", "SDY-S006"),
        ("sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>", None),
        ("sdy.sharding = #sdy.sharding_per_value<[<@one, [{}, {}]>]>", "SDY-S002"),
        ("sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>", None),
        ("sdy.sharding_rule = 1 : i32", "SDY-S031"),
        ("sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>", "SDY-R004"),
        ("sdy.block_arg_propagation_edges = [1 : i32]", "SDY-S031"),
        ("sdy.result_propagation_edges = 1 : i32", "SDY-S031"),
        ("sdy.result_propagation_edges = []", None),
        ("sdy.anything = 1 : i32", None),
        (
            'sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>',
            "SDY-S305",
        ),
        (
            'sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"z" = operand-0 -> [result-0]}]}]>,'
            "sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>",
            "SDY-S307",
        ),
        (  # the attributes are looked at in the order of their names
            "sdy.propagation_edges = 1 : i32, sdy.sharding = 1 : i32, sdy.sharding_rule = 1 : i32",
            "SDY-S031",
        ),
    ],
)
def test_attributes_of_any_op(attributes: str, code: str | None) -> None:
    check(in_function(f'"some.op"(%x) {{{attributes}}} : (tensor<8x8xf32>) -> tensor<8x8xf32> // <<<'), code)


def test_the_first_attribute_by_name_is_reported() -> None:
    problem = problem_in(
        in_function("%0 = stablehlo.abs %x {sdy.sharding = 1 : i32, sdy.propagation_edges} : tensor<8x8xf32>")
    )
    assert problem is not None
    assert "sdy.propagation_edges" in problem.message


def test_edges_of_values_on_different_meshes() -> None:
    text = (
        'func.func @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {\n'
        '"some.op"(%x) {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>,'
        'sdy.sharding = #sdy.sharding_per_value<[<@line, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<8xf32> // <<<\n'
        "return\n}"
    )
    check(text, "SDY-S306")


def test_terminators_without_results_may_be_on_a_single_device() -> None:
    placed = "func.func @f() {{\nreturn {{sdy.sharding = #sdy.sharding_per_value<[{}]>}} // <<<\n}}"
    check(placed.format("<@one, []>"), None)
    check(placed.format("<@m, []>"), None)
    check(placed.format("<@m, [{}]>"), "SDY-S002")


@pytest.mark.parametrize(
    ("argument", "result", "code"),
    [
        ('#sdy.sharding<@m, [{"a"}]>', '#sdy.sharding<@m, [{"c"}]>', None),
        ("1 : i32", '#sdy.sharding<@m, [{"c"}]>', "SDY-S031"),
        ("#sdy.sharding<@m, [{}]>", "#sdy.sharding_per_value<[]>", "SDY-S031"),
        ('#sdy.sharding<@m, [{"z"}]>', "#sdy.sharding<@m, []>", "SDY-S201"),
        ("#sdy.sharding<@m, [{}]>", "#sdy.sharding<@m, []>", "SDY-S006"),
        ("#sdy.sharding<@one, []>", "#sdy.sharding<@one, []>", None),
    ],
)
def test_arguments_and_results_of_functions(argument: str, result: str, code: str | None) -> None:
    text = (
        f"func.func @f(%x: tensor<8xf32> {{sdy.sharding = {argument}}}) -> (tensor<8xf32> {{sdy.sharding = {result}}}) "
        "{ // <<<\nreturn %x : tensor<8xf32>\n}"
    )
    check(text, code)


def test_messages_name_the_argument_index() -> None:
    problem = problem_in(
        "func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, []>}) { return }"
    )
    assert problem is not None
    assert problem.message.startswith("func.func: argument 1: ")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('%0 = sdy.sharding_constraint %x <@m, [{"a"}, {?}]> : tensor<8x8xf32> // <<<', None),
        ('%0 = sdy.sharding_constraint %x <@m, [{"z"}, {}]> : tensor<8x8xf32> // <<<', "SDY-S201"),
        ('%0 = sdy.reshard %x <@m, [{"a"}]> : tensor<8x8xf32> // <<<', "SDY-S006"),
        ("%0 = sdy.propagation_barrier %x allowed_direction=BOTH : tensor<8x8xf32> // <<<", "SDY-D141"),
        (
            '%0 = "sdy.propagation_barrier"(%x) <{allowed_direction = 7 : i32}> '
            ": (tensor<8x8xf32>) -> tensor<8x8xf32> // <<<",
            "SDY-D143",
        ),
        ("%0 = sdy.data_flow_edge %x : tensor<8x8xf32> // <<<", None),
        ("%0 = sdy.data_flow_edge %x sharding=<@m, [{}]> : tensor<8x8xf32> // <<<", "SDY-S006"),
        ("%0 = sdy.data_flow_edge %x : tensor<8x8xf32> // <<<\n%1 = stablehlo.abs %x : tensor<8x8xf32>", "SDY-D132"),
        (
            "%0 = sdy.reshard %x <@m, [{}, {}]> : tensor<8x8xf32>\n%1 = sdy.data_flow_edge %0 : tensor<8x8xf32> // <<<",
            "SDY-D133",
        ),
        (
            '%0 = "some.op"() : () -> tensor<?xf32>\n%1 = sdy.data_flow_edge %0 : tensor<?xf32> // <<<',
            "SDY-D131",
        ),
        ("%0 = sdy.func_data_flow_edge %x : tensor<8x8xf32> // <<<", None),
        (
            "%0 = stablehlo.abs %x : tensor<8x8xf32>\n%1 = sdy.func_data_flow_edge %0 : tensor<8x8xf32> // <<<",
            "SDY-D134",
        ),
        ("sdy.mesh @late = <[]> // <<<", "SDY-D101"),
        ('%0 = "sdy.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<8xf32> // <<<', "SDY-D142"),
        ("%0 = sdy.constant dense<1.0> : tensor<4xf32> // <<<", None),
    ],
)
def test_single_value_ops(body: str, code: str | None) -> None:
    check(in_function(body), code)


def test_symbols_are_unique() -> None:
    problem = check("sdy.mesh @m = <[]> // <<<", "SDY-D102")
    assert problem is not None
    assert problem.notes[0].span is not None
    assert problem.notes[0].span.line == 2


def test_unreduced_axes_require_a_sum_if_the_operand_is_sharded() -> None:
    body = '%0 = sdy.reshard %x <@m, [{}, {}], unreduced=max{"a"}> : tensor<8x8xf32> // <<<'
    check(in_function(body), None)
    check(in_function(body, "[{}, {}]"), "SDY-D245")


def test_unreduced_axes_are_checked_through_barriers() -> None:
    body = (
        '%0 = sdy.reshard %x <@m, [{}, {}], unreduced={"a"}> : tensor<8x8xf32>\n'
        "%1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8x8xf32>\n"
        '%2 = sdy.reshard %1 <@m, [{}, {}], unreduced=min{"a"}> : tensor<8x8xf32> // <<<'
    )
    check(in_function(body), "SDY-D246")


@pytest.mark.parametrize(
    ("op", "code"),
    [
        ('sdy.all_gather [{"b"}, {}] %x out_sharding=<@m, [{"a"}, {}]>', None),
        ('sdy.all_gather [{"b"}, {}] %x out_sharding=<@n, [{"a"}, {}]>', None),  # an equal mesh by another name
        ('sdy.all_gather [{"b"}, {}] %x out_sharding=<@turned, [{"a"}, {}]>', "SDY-D202"),
        ('sdy.all_gather [{"b"}, {}] %x out_sharding=<@line, [{}, {}]>', "SDY-D202"),
        ('sdy.all_gather [{"b"}] %x out_sharding=<@m, [{"a"}]>', "SDY-S006"),
        ('sdy.all_gather [{"a"}, {}] %x out_sharding=<@m, [{"b"}, {}]>', "SDY-D212"),
        ('sdy.all_slice [{}, {"c"}] %x out_sharding=<@m, [{"a", "b"}, {"c"}]>', None),
        ('sdy.all_slice [{}, {"c"}] %x out_sharding=<@m, [{"a"}, {"c"}]>', "SDY-D213"),
        ('sdy.all_to_all [{"b"}: 0->1] %x out_sharding=<@m, [{"a"}, {"b"}]>', None),
        ('sdy.all_to_all [] %x out_sharding=<@m, [{"a"}, {"b"}]>', "SDY-D221"),
        ('sdy.collective_permute %x out_sharding=<@m, [{"c"}, {}]>', None),
        ('sdy.collective_permute %x out_sharding=<@turned, [{"a", "b"}, {}]>', None),
        ('sdy.collective_permute %x out_sharding=<@n, [{"a", "b"}, {}]>', "SDY-D232"),
        ("sdy.collective_permute %x out_sharding=<@line, [{}, {}]>", "SDY-D231"),
        ('sdy.all_reduce {"c"} %x out_sharding=<@m, [{"a", "b"}, {}]>', None),
        ('sdy.all_reduce {"a"} %x out_sharding=<@m, [{"a", "b"}, {}]>', "SDY-D242"),
        ('sdy.all_reduce {"c"} %x out_sharding=<@m, [{"a", "b"}, {}], unreduced={"c"}>', "SDY-D243"),
        ('sdy.reduce_scatter [{}, {"c"}] %x out_sharding=<@m, [{"a", "b"}, {"c"}]>', None),
        ('sdy.reduce_scatter [{}, {}] %x out_sharding=<@m, [{"a", "b"}, {}], unreduced={"c"}>', "SDY-D244"),
        ('sdy.sharded_to_unreduced [{"b"}, {}] %x out_sharding=<@m, [{"a"}, {}], unreduced={"b"}>', None),
        ('sdy.sharded_to_unreduced [{"b"}, {}] %x out_sharding=<@m, [{"a"}, {}]>', "SDY-D252"),
        ('sdy.replicated_to_unreduced {"c"} %x out_sharding=<@m, [{"a", "b"}, {}], unreduced={"c"}>', None),
        ('sdy.replicated_to_unreduced {"b"} %x out_sharding=<@m, [{"a", "b"}, {}], unreduced={"b"}>', "SDY-S202"),
    ],
)
def test_collectives(op: str, code: str | None) -> None:
    check(in_function(f"%0 = {op} : tensor<8x8xf32> // <<<", '[{"a", "b"}, {}]'), code)


@pytest.mark.parametrize(
    ("op", "code"),
    [
        ("sdy.all_gather [{}, {}] %x out_sharding=<@m, [{}, {}]>", "SDY-D201"),
        ('sdy.all_to_all [{"b"}: 0->1] %x out_sharding=<@m, [{}, {"b"}]>', "SDY-D201"),
        ('sdy.all_slice [{"a"}, {}] %x out_sharding=<@m, [{"a"}, {}]>', None),
        ('sdy.all_reduce {"a"} %x out_sharding=<@m, [{}, {}]>', None),
        ('sdy.reduce_scatter [{"a"}, {}] %x out_sharding=<@m, [{"a"}, {}]>', None),
    ],
)
def test_collectives_of_an_unsharded_operand(op: str, code: str | None) -> None:
    check(in_function(f"%0 = {op} : tensor<8x8xf32> // <<<"), code)


def test_a_permute_from_one_device_changes_the_rank_of_the_sharding() -> None:
    text = (
        "func.func @f(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {\n"
        "%0 = sdy.collective_permute %x out_sharding=<@m, [{}]> : tensor<8xf32> // <<<\nreturn\n}"
    )
    check(text, "SDY-D203")


def test_reductions_must_match_the_kind_of_unreduced_axes() -> None:
    body = (
        '%0 = sdy.replicated_to_unreduced {{"a"}} %x out_sharding=<@m, [{{}}, {{}}], unreduced={{"a"}}> '
        ": tensor<8x8xf32>\n"
        '%1 = sdy.all_reduce {}{{"a"}} %0 out_sharding=<@m, [{{}}, {{}}]> : tensor<8x8xf32> // <<<'
    )
    check(in_function(body.format(""), "[{}, {}]"), None)
    check(in_function(body.format("max "), "[{}, {}]"), "SDY-D245")


def manual(shardings: str, axes: str, inner: str, body: str = "sdy.return %y : tensor<{}xf32>") -> str:
    """Return a manual computation on the 8x8 tensor %x, whose shards in the body have shape `inner`."""
    return in_function(
        f"%0 = sdy.manual_computation(%x) in_shardings=[{shardings}] out_shardings=[{shardings}] manual_axes={axes} "
        f"(%y: tensor<{inner}xf32>) {{ // <<<\n{body.format(inner)}\n}} : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    )


@pytest.mark.parametrize(
    ("shardings", "axes", "inner", "code"),
    [
        ('<@m, [{"a", "b"}, {?}]>', '{"a"}', "4x8", None),
        ('<@m, [{"a":(1)2}, {}]>', '{"a"}', "4x8", "SDY-S209"),
        ('<@m, [{"c":(1)2, "b"}, {}]>', '{"c"}', "4x8", None),
        ('<@m, [{"b", "a"}, {}]>', '{"a"}', "4x8", "SDY-D113"),
        ('<@m, [{"a"}, {}]>', '{"a"}', "8x8", "SDY-D115"),
        ('<@m, [{"a", "b", "c"}, {}]>', '{"a", "b", "c"}', "1x8", "SDY-D114"),
        ('<@m, [{"a"}]>', '{"a"}', "4x8", "SDY-S006"),
        ('<@m, [{"a"}, {}]>', '{"a", "z"}', "4x8", "SDY-D117"),
        ('<@m, [{"a"}, {}]>, <@m, []>', '{"a"}', "4x8", "SDY-S022"),
    ],
)
def test_manual_computations(shardings: str, axes: str, inner: str, code: str | None) -> None:
    check(manual(shardings, axes, inner), code)


def test_the_shardings_of_a_manual_computation_share_a_mesh() -> None:
    body = (
        "%0 = sdy.manual_computation(%x) in_shardings=[<@m, [{}, {}]>] out_shardings=[<@line, [{}, {}]>] "
        'manual_axes={"a"} (%y: tensor<8x8xf32>) { // <<<\nsdy.return %y : tensor<8x8xf32>\n'
        "} : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    )
    check(in_function(body), "SDY-D116")
    check(in_function(body.replace('{"a"}', "{}")), None)


def test_a_manual_computation_without_values_is_not_checked() -> None:
    body = 'sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"z"} () {\nsdy.return\n} : () -> ()'
    check(in_function(body), None)


def test_the_body_has_as_many_values_as_the_op() -> None:
    body = (
        "sdy.manual_computation(%x) in_shardings=[<@m, [{}, {}]>] out_shardings=[] manual_axes={} () { // <<<\n"
        "sdy.return\n} : (tensor<8x8xf32>) -> ()"
    )
    check(in_function(body), "SDY-D112")


def test_manual_axes_are_rejected_in_the_body() -> None:
    constraint = '%z = sdy.sharding_constraint %y <@m, [{{}}, {{"{0}"}}]> : tensor<4x8xf32>{1}\n'
    ending = "sdy.return %z : tensor<4x8xf32>"
    op = '<@m, [{"a"}, {}]>'
    assert problem_in(manual(op, '{"a"}', "4x8", constraint.replace("{0}", "b").replace("{1}", "") + ending)) is None
    problem = problem_in(manual(op, '{"a"}', "4x8", constraint.replace("{0}", "a").replace("{1}", "") + ending))
    assert problem is not None
    assert problem.code == "SDY-S014"
    assert [note.span.line for note in problem.notes if note.span] == [8]


def test_nested_manual_axes_are_rejected() -> None:
    inner = (
        "%z = sdy.manual_computation(%y) in_shardings=[<@m, [{{}}, {{}}]>] out_shardings=[<@m, [{{}}, {{}}]>] "
        'manual_axes={{"a"}} (%w: tensor<4x8xf32>) {{\nsdy.return %w : tensor<4x8xf32>\n'
        "}} : (tensor<4x8xf32>) -> tensor<4x8xf32>\nsdy.return %z : tensor<4x8xf32>"
    )
    problem = problem_in(manual('<@m, [{"a"}, {}]>', '{"a"}', "4x8", inner))
    assert problem is not None
    assert problem.code == "SDY-D111"
    assert problem.span is not None
    assert (problem.span.line, [note.span.line for note in problem.notes if note.span]) == (9, [8])


def named(argument: str, returned: str, shardings: str = "") -> str:
    return in_function(
        f'%0 = sdy.named_computation<"n">(%x) {shardings} (%y: {argument}) {{ // <<<\n'
        f'%z = "some.op"(%y) : ({argument}) -> {returned}\nsdy.return %z : {returned}\n'
        "} : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    )


@pytest.mark.parametrize(
    ("argument", "returned", "shardings", "code"),
    [
        ("tensor<8x8xf32>", "tensor<8x8xf32>", "", None),
        ("tensor<8x8xf32>", "tensor<8x8xf32>", 'in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{}, {}]>]', None),
        ("tensor<8x8xf32>", "tensor<8x8xf32>", 'out_shardings=[<@m, [{"z"}, {}]>]', "SDY-S201"),
        ("tensor<8x8xf32>", "tensor<8x8xf32>", "in_shardings=[]", "SDY-S022"),
        ("tensor<4x8xf32>", "tensor<8x8xf32>", "", "SDY-D121"),
        ("tensor<8x8xf32>", "tensor<4x8xf32>", "", "SDY-D121"),
    ],
)
def test_named_computations(argument: str, returned: str, shardings: str, code: str | None) -> None:
    check(named(argument, returned, shardings), code)


def test_ops_that_refer_to_meshes_are_verified_last() -> None:
    body = (
        "%0 = sdy.reshard %x <@none, [{}, {}]> : tensor<8x8xf32>\n"
        '%1 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"z"}, {}]>]>} : tensor<8x8xf32> // <<<'
    )
    check(in_function(body), "SDY-S201")


def test_nested_modules_have_separate_meshes() -> None:
    argument = "%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}]>}}"
    inner = f"module {{{{\n{{}}func.func @g({argument}) {{{{ // <<<\nreturn\n}}}}\n}}}}"
    check(inner.format(""), "SDY-S001")
    check(inner.format("sdy.mesh @m = <[]>\n"), None)


def test_a_sharding_on_the_module_op_cannot_refer_to_its_meshes() -> None:
    module = parse_module(
        "module attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, []>]>} { sdy.mesh @m = <[]> }"
    )
    with pytest.raises(SdyError, match="mesh @m is not defined"):
        verify_module(module)
