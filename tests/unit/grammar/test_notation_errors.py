"""Syntax errors of the notation: the code, the columns of the caret and the hint."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.grammar import parse
from sdy.grammar.errors import NotationError
from sdy.grammar.parse import Notation


def error_in(notation: Notation[object], text: str) -> Diagnostic:
    with pytest.raises(SdyError) as caught:
        notation.parse(text, "file.mlir")
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def check(notation: Notation[object], marked: str, code: str) -> Diagnostic:
    """Check the error in `marked`, whose guillemets enclose the columns that the caret covers."""
    before, rest = marked.split("«")
    stretch, after = rest.split("»")
    diagnostic = error_in(notation, before + stretch + after)
    assert diagnostic.code == code
    assert diagnostic.span is not None
    assert diagnostic.span.column == len(before) + 1
    assert diagnostic.span.length == max(1, len(stretch))
    return diagnostic


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ('<@m, [{"x"}«phigh»]>', "SDY-P103"),
        ('<@m, [{"x"}«p01»]>', "SDY-P103"),
        ('<@m, [{"x"}«p»]>', "SDY-P103"),
        ('<@m, [{"x"}«p9999999999999999999»]>', "SDY-P103"),
        ('<@m, [{"x"}«p1.5»]>', "SDY-P103"),
        ('<@m, [{"x"}«q1»]>', "SDY-P103"),
        ('<@m, [{"x",«}»]>', "SDY-P101"),
        ("<@m, [{«,» ?}]>", "SDY-P101"),
        ('<@m, [{?«,» "a"}]>', "SDY-P101"),
        ('<@m, [{"a" «?»}]>', "SDY-P101"),
        ('<@m, [{"a", «b»}]>', "SDY-P101"),
        ('<@m, [{"a":(1«]»2}]>', "SDY-P101"),
        ("<@m, [{}], «[»{}]>", "SDY-P101"),
        ("<@m, [{}], replicated«>»", "SDY-P101"),
        ('<@m, [{}], «replicatedx»={"a"}>', "SDY-P101"),
        ('<@m, [{}], replicated«{»"a"}>', "SDY-P101"),
        ("<@m, [{}], replicated={«}»>", "SDY-P101"),
        ("<@m, [{}], unreduced={«}»>", "SDY-P101"),
        ('<@m, [{}], unreduced=«[»"a"]>', "SDY-P101"),
        ('<@m, [{}], unreduced=«most»{"a"}>', "SDY-P101"),
        ('<@m, [{}], unreduced «max»{"a"}>', "SDY-P101"),
        ('<@m, [{}], «unknown»={"a"}>', "SDY-P101"),
        ('<@m, [{}], replicated={"a"}, «>»', "SDY-P101"),
        ('<@m, [{}], replicated={"a"}, «replicated»={"b"}>', "SDY-P105"),
        ('<@m, [{}], unreduced={"a"}, replicated={"b"}, «unreduced»=max{"c"}>', "SDY-P105"),
        ("<@a«:»:@b, []>", "SDY-P101"),
        ('<«#sdy.mesh»<["x"=2]>, []>', "SDY-P101"),
        ("<«@»>", "SDY-P101"),
        ('<@m, [{«"»a\nb"}]>', "SDY-P101"),
        (r'<@m, [{«"a\qb"»}]>', "SDY-P101"),
        ("<@m, [{}]«»", "SDY-P102"),
        ('<@m, [{"x":(«99999999999999999999»)2}]>', "SDY-P104"),
    ],
)
def test_shardings(marked: str, code: str) -> None:
    check(parse.TENSOR_SHARDING, marked, code)


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ('<[«"x"=0»]>', "SDY-S101"),
        ('<["a"=2, «"x"=-1»]>', "SDY-S101"),
        ('<[«"x"=2, "y"=2, "x"=2»]>', "SDY-S104"),
        ("<[], device_ids=[«0, 1»]>", "SDY-S103"),
        ('<[«"x"=2], device_ids=[0, 0»]>', "SDY-S106"),
        ('<[«"x"=2], device_ids=[-1, 0»]>', "SDY-S102"),
        ('<["x"=2], device_ids=[«]»>', "SDY-P101"),
        ('<["x"=«99999999999999999999»]>', "SDY-P104"),
        ('<["x"=«y»]>', "SDY-P101"),
        ("<[«x»=2]>", "SDY-P101"),
    ],
)
def test_meshes(marked: str, code: str) -> None:
    check(parse.MESH, marked, code)


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ("<([i «j»])->([i])>", "SDY-P101"),
        ("<([«i_1»])->([i])>", "SDY-P106"),
        ("<([«z_0»])->([i])>", "SDY-P106"),
        ("<([i])->([«z_99999999999999999999»])>", "SDY-P106"),
        ("<([i])->([i]) {«j»=2}>", "SDY-P107"),
        ("<([i])->([i]) {i=2, «k»=2}>", "SDY-P107"),
        ("<([i])->([i]) {«ij»=2}>", "SDY-P107"),
        ("<([i])->([i]) {i=2} reduction={«a»}>", "SDY-P106"),
        ("<([i])->([i]) permutation={i} «reduction»={i}>", "SDY-P101"),
        ("<([i])->([i]), «customs»>", "SDY-P101"),
        ("<(«)»->([i])>", "SDY-P101"),
        ("<([i])«-»([i])>", "SDY-P101"),
    ],
)
def test_rules(marked: str, code: str) -> None:
    check(parse.OP_SHARDING_RULE, marked, code)


@pytest.mark.parametrize(
    ("notation", "marked", "code"),
    [
        (parse.ALL_TO_ALL_PARAMS, "[{«}»: 0->1]", "SDY-P101"),
        (parse.ALL_TO_ALL_PARAMS, '[{"x"} «0»->1]', "SDY-P101"),
        (parse.MANUAL_AXES, '{"x"«:»(1)2}', "SDY-P101"),
        (parse.AXIS_LIST, '{"x",«}»', "SDY-P101"),
        (parse.PROPAGATION_EDGES, "<[«]»>", "SDY-P101"),
        (parse.PROPAGATION_EDGES, '<[{step--«x» = [{"x" = operand-0 -> [result-0]}]}]>', "SDY-P101"),
        (parse.PROPAGATION_EDGES, '<[{step-«-1 = [{"x" = operand-0 -> [result-0»]}]}]>', "SDY-S301"),
        (parse.PROPAGATION_EDGES, '<[{step-0 = [{"x" = «input»-0 -> [result-0]}]}]>', "SDY-P101"),
        (parse.PROPAGATION_EDGES, '<[{step-0 = [{"x" = operand-0 -> [«]»}]}]>', "SDY-P101"),
        (parse.SHARDING_LIST, "[«#none»]", "SDY-P108"),
        (parse.TENSOR_SHARDING, "<mesh «#none», []>", "SDY-P108"),
    ],
)
def test_other_kinds(notation: Notation[object], marked: str, code: str) -> None:
    check(notation, marked, code)


def test_numbers_of_any_length_are_read() -> None:
    digits = "9" * 5000
    assert error_in(parse.SUB_AXIS, f"(1){digits}").code == "SDY-P104"
    assert error_in(parse.SUB_AXIS, f"(1)0x{'F' * 5000}").code == "SDY-P104"
    assert error_in(parse.DIM_SHARDING, "{}p" + digits).code == "SDY-P103"
    assert error_in(parse.TENSOR_MAPPING, f"[z_{digits}]").code == "SDY-P106"
    assert parse.SUB_AXIS.parse(f"(-9223372036854775808)0x{'0' * 5000}F") == (-(2**63), 15)
    assert error_in(parse.SUB_AXIS, "(1)9223372036854775808").code == "SDY-P104"


def test_an_alias_of_another_kind() -> None:
    with pytest.raises(NotationError, match="expected alias #m to stand for a sharding"):
        parse.SHARDING_LIST.read("[#m]", {"m": parse.parse_mesh("<[]>")}.get)


def test_the_hint_lists_the_expected_tokens() -> None:
    assert error_in(parse.TENSOR_SHARDING, '<@m, [{"x",}]>').hint == "expected `?` or a quoted name"
    assert error_in(parse.TENSOR_SHARDING, "<").hint == "expected `mesh` or a mesh such as `@mesh`"
    assert error_in(parse.TENSOR_SHARDING, "<@m").hint == "expected `,`"
    assert error_in(parse.MESH, '<["x"=2], ids=[0]>').hint == "expected `device_ids`"
    assert error_in(parse.MESH, '<["x"=4.0]>').hint == "expected `,` or `]`"
    assert error_in(parse.AXIS_LIST, '{"x":(1)2').hint == "expected `,` or `}`"


def test_lines_are_counted_within_the_text() -> None:
    span = error_in(parse.TENSOR_SHARDING, '<@m, // a comment\n [{"x"}\n {"y"}]>').span
    assert span is not None
    assert (span.file, span.line, span.column, span.text) == ("file.mlir", 3, 2, ' {"y"}]>')


def test_parse_functions_name_the_text_by_its_kind() -> None:
    with pytest.raises(SdyError) as caught:
        parse.parse_sharding("@m")
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.file == "<sharding>"
