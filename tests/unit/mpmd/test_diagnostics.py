"""The code of each diagnostic of programs on several meshes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module_with_locations
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes.manager.pass_options import passes_of
from sdy.passes.run import run_passes

A = '!mpmd.mesh_tensor<"a", tensor<8xf32>>'
B = '!mpmd.mesh_tensor<"b", tensor<8xf32>>'
X = '!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>'
HOST = '!mpmd.mesh_tensor<"a", tensor<8xf32>, memory_kind="pinned_host">'
TOPOLOGY = 'attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>}'
MESH = 'sdy.mesh @m = <["x"=2]>'


def function(body: str, argument: str = A, result: str = "", attributes: str = TOPOLOGY) -> str:
    """Return a public function with the argument `%x`."""
    arrow = f" -> {result}" if result else ""
    return f"{MESH}\nfunc.func public @main(%x: {argument}){arrow} {attributes} {{\n{body}\n}}\n"


def computation(name: str, body: str = "mpmd.return %p : tensor<8xf32>", operand: str = "%x") -> str:
    types = "(tensor<8xf32>) -> tensor<8xf32>"
    return f'mpmd.named_computation<"{name}"> ({operand}) (%p: tensor<8xf32>) {{\n{body}\n}} : {types}\n'


def fragment(origin: str, attributes: str = "", operand: str = "%x") -> str:
    """Return the text of a fragment on the mesh a that negates its operand."""
    body = "%q = stablehlo.negate %p : tensor<8xf32>\nmpmd.return %q : tensor<8xf32>"
    head = f'mpmd.fragment<mesh="a", origin=[{origin}]{attributes}> ({operand}) (%p: tensor<8xf32>)'
    return f"{head} {{\n{body}\n}} : ({A}) -> {A}\n"


LOOP = """%0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 1 : ui32} (%p: tensor<8xf32>, %i: tensor<ui32>) {
  mpmd.return %p : tensor<8xf32>
} : tensor<8xf32>
return"""
SAME = """func.func @same(%p: tensor<8xf32>) -> tensor<8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %p : tensor<8xf32>
}"""
INFO_F = 'FragmentInfo(origins=["f"],mesh_name="a")'
MERGE_TWICE = ",".join([f"FragmentMergeRule(sources=[{INFO_F}],target={INFO_F})"] * 2)
ORDER = f'FragmentScheduleRule(ordered_fragments=[{INFO_F}->FragmentInfo(origins=["g"],mesh_name="a")])'


class Case(NamedTuple):
    """A program, and the pass that finds something wrong with it; the verifier does where there is no pass."""

    code: str
    text: str
    passes: str = ""


CASES = [
    Case("SDY-M001", function(f"%0 = mpmd.transfer %x : ({A}) -> {A}\nreturn", attributes="")),
    Case("SDY-M001", SAME, "mpmd-generate-sdy-meshes-from-topology"),
    Case("SDY-M002", function(LOOP.replace("unroll_factor = 1", "unroll_factor = 3"), "tensor<8xf32>")),
    Case(
        "SDY-M003",
        function("%0 = mpmd.call @none(%x) : (tensor<8xf32>) -> tensor<8xf32>\nreturn", "tensor<8xf32>"),
    ),
    Case("SDY-M010", function("return"), "mpmd-pipeline-scheduler{must-happen-before=2F2B}"),
    Case(
        "SDY-M110",
        function("%0 = stablehlo.abs %x : tensor<8xf32>\nreturn %0 : tensor<8xf32>", "tensor<8xf32>", "tensor<8xf32>"),
        "mpmd-infer-mesh-rewrite-using-analysis",
    ),
    Case("SDY-M101", function(LOOP, "tensor<8xf32>"), "mpmd-unroll-for-loops"),
    Case("SDY-M102", function("return"), f"mpmd-rule-based-merge{{rules={MERGE_TWICE}}}"),
    Case(
        "SDY-M103",
        function("%0 = " + fragment('"f"', ", stage=1") + "%1 = " + fragment('"g"', ", stage=1") + "return"),
        "mpmd-verify-stage-merging",
    ),
    Case(
        "SDY-M104",
        function("%0 = " + fragment('"f"').replace("(%p", "{call_counter = 0 : ui32} (%p", 1) + "return"),
        "mpmd-scheduling-units-verifier",
    ),
    Case("SDY-M105", function("return"), f"mpmd-rule-based-schedule{{rules={ORDER}}}"),
    Case(
        "SDY-M106",
        function("%0 = " + computation("f") + "return", "tensor<8xf32>"),
        "mpmd-map-named-ops-to-mpmd-ops{assignment=g@a}",
    ),
    Case(
        "SDY-M107",
        function(
            "%0 = "
            + computation("f", "%q = " + computation("g", operand="%p") + "mpmd.return %q : tensor<8xf32>")
            + "return",
            "tensor<8xf32>",
        ),
        "mpmd-inline-nested-user-exposed-ops{assignment=f@a,g@b}",
    ),
    Case(
        "SDY-M108",
        function(
            f"%0 = mpmd.assign %x : (tensor<8xf32>) -> {A}\n%1 = mpmd.assign %x : (tensor<8xf32>) -> {HOST}\n"
            f"return %0, %1 : {A}, {HOST}",
            "tensor<8xf32>",
            f"({A}, {HOST})",
        ),
        "mpmd-infer-mesh-finalize",
    ),
    Case(
        "SDY-M109",
        function(
            "%0 = stablehlo.abs %x {mpmd.src_set = #mpmd.meshes_with_origins<>} : tensor<8xf32>\nreturn",
            "tensor<8xf32>",
        ),
        "mpmd-infer-mesh-assign-mesh-func-leaves",
    ),
    Case(
        "SDY-M110", function("return %x : tensor<8xf32>", "tensor<8xf32>", "tensor<8xf32>"), "mpmd-infer-mesh-finalize"
    ),
    Case(
        "SDY-M201",
        'sdy.mesh @n = <["x"=4]>\n'
        + function("return", f'{A} {{sdy.sharding = #sdy.sharding<@n, [{{"x":(1)2}}]>}}').replace('"x"=2', '"x"=4'),
        "mpmd-enforce-user-shardings",
    ),
    Case(
        "SDY-M202",
        function(f"%0 = mpmd.transfer %x : ({HOST}) -> {HOST}\nreturn", HOST),
        "mpmd-extract-reshards-from-inter-mesh-transfers",
    ),
    Case(
        "SDY-M203",
        function(
            f"%0 = mpmd.transfer {{sdy.sharding = #sdy.sharding_per_value<[<@m, [{{}}]>]>}} %x : ({A}) -> {B}\n"
            f"return %0 : {B}",
            f'{A} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}]>}}',
            B,
        ),
        "mpmd-extract-reshards-from-inter-mesh-transfers",
    ),
    Case(
        "SDY-M301",
        function(f"return %x : {A}", A, f'({A} {{mhlo.memory_kind = "pinned_host"}})'),
        "mpmd-mark-offloaded-input-output",
    ),
    Case(
        "SDY-M302",
        function(f"return %x : {A}", f'{A} {{mhlo.layout_mode = "{{0}}"}}', f'({A} {{mhlo.layout_mode = "{{1}}"}})'),
        "mpmd-mark-input-output-with-layouts",
    ),
    Case(
        "SDY-M303",
        function(
            f"%0 = mpmd.transfer %x : ({A}) -> {B}\nreturn %0 : {B}", f'{A} {{mhlo.layout_mode = "{{0}}"}}', B
        ).replace('"b"', '"a/cpu"'),
        "mpmd-mark-input-output-with-layouts",
    ),
    Case(
        "SDY-M304",
        function(f"%0 = mpmd.unassign %x : ({A}) -> tensor<8xf32>\nreturn"),
        "mpmd-mark-fragment-reserved-memory",
    ),
    Case(
        "SDY-M305",
        function(f"%0 = mpmd.transfer %x : ({A}) -> {B}\nreturn", f'{A} loc("the_weight")'),
        "mpmd-validate-no-param-transfers{param-pattern=weight}",
    ),
    Case("SDY-M306", function("%0 = " + fragment("") + "return"), "mpmd-validate-no-inferred-fragments"),
    Case(
        "SDY-M307",
        function(f'%0 = mpmd.fragment_call<mesh="a", origin=["f"]> @same(%x) : ({A}) -> {A}\nreturn') + SAME,
        "mpmd-validate-no-reshards",
    ),
    Case(
        "SDY-M308",
        function("%0 = " + fragment('"f"') + f"return %0 : {A}", result=A),
        "mpmd-lower-to-fragment-calls{verbose-logging=true}",
    ),
    Case(
        "SDY-M309",
        function(f'%0 = mpmd.fragment_call<mesh="a", origin=["f"(1)]> @same(%x) : ({A}) -> {A}\nreturn') + SAME,
        "mpmd-validate-no-backward-deps{fail-on-backward-deps=true}",
    ),
]


def found_in(case: Case) -> list[Diagnostic]:
    """Return the errors of a case, or else its warnings and remarks."""
    ctx = make_context()
    try:
        module, ctx.locations = parse_module_with_locations(case.text, "<text>", ctx)
        verify_module(module)
        if case.passes:
            run_passes(ctx, module, passes_of(f"builtin.module({case.passes})"))
    except SdyError as error:
        return list(error.diagnostics)
    return ctx.diagnostics


@pytest.mark.parametrize("case", CASES, ids=[case.code for case in CASES])
def test_code(case: Case) -> None:
    assert {found.code for found in found_in(case)} == {case.code}
