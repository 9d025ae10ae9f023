"""Each rule of the linter finds its program, and not a similar one; its fix holds, and is not found again."""

from __future__ import annotations

import pytest
from support.lint_programs import FIRES, SILENT, chain, program

import sdy
from sdy.advice.lint.finding import Finding
from sdy.advice.lint.rules import RULES
from sdy.advice.lint.settings import LintSettings
from sdy.diagnostics.codes import CODES
from sdy.program.program import Program

PRODUCT = "stablehlo.dot_general %a, %w{layer}, contracting_dims = [1] x [0] : (T, T) -> T"
FIXES = {
    "SDY-S401": "annotate %b as [{\"x\"}, {}] or P('x', None)",
    "SDY-S402": "annotate %w as [{}, {\"y\"}] or P(None, 'y')",
    "SDY-S403": "constrain %w to [{}, {}] or P(None, None)",
    "SDY-S404": "annotate %0 as [{\"x\"}, {}] or P('x', None)",
    "SDY-S405": "annotate %0 as [{\"x\"}, {}] or P('x', None)",
    "SDY-S406": "constrain %w to [{}, {}] or P(None, None)",
    "SDY-S407": 'give "x" a later priority in these: annotate %w as [{}, {"x"}p1]',
    "SDY-S408": "remove the sharding constraint %1",
    "SDY-S409": "remove the sharding constraint %1",
    "SDY-S410": "annotate %1 as [{\"x\"}, {}] or P('x', None)",
    "SDY-S411": "annotate %a as [{}, {\"x\"}] or P(None, 'x')",
    "SDY-S412": None,
    "SDY-S413": "annotate %1 as [{\"x\"}, {}] or P('x', None)",
    "SDY-S414": "annotate result[0] as [{\"x\"}, {}] or P('x', None)",
    "SDY-S415": "annotate %w as [{}, {\"x\"}] or P(None, 'x')",
    "SDY-S416": "annotate %m as [{\"x\"}, {}] or P('x', None); annotate result[1] as [{\"x\"}, {}] or P('x', None)",
    "SDY-S417": "constrain %0 to [{\"x\", ?}, {?}] or P('x', P.UNCONSTRAINED)",
}


def unoptimized(text: str) -> Program:
    """Return a program; the optimizer of communication would repair some of them itself."""
    return sdy.Program.from_text(program(text), "p.mlir").without_optimizer()


def findings(text: str, code: str) -> list[Finding]:
    return list(unoptimized(text).lint(LintSettings(select=(code,))).findings)


@pytest.mark.parametrize("code", FIRES)
def test_a_rule_finds_its_program(code: str) -> None:
    found = findings(FIRES[code], code)
    assert [each.code for each in found] == [code]
    assert found[0].span is not None
    fix = found[0].fix
    assert (fix and fix.fix.text) == FIXES[code]
    assert fix is None or (fix.is_free and fix.saved.covers(found[0].cost.times(0.5)))


@pytest.mark.parametrize("code", SILENT)
def test_a_rule_does_not_find_a_similar_program(code: str) -> None:
    assert not findings(SILENT[code], code)


@pytest.mark.parametrize("code", [code for code, fix in FIXES.items() if fix is not None])
def test_a_fixed_program_has_no_finding(code: str) -> None:
    settings = LintSettings(select=(code,))
    fixed, applied = unoptimized(FIRES[code]).with_lint_fixes(settings)
    assert [each.code for each in applied] == [code] * len(applied)
    assert applied
    assert not fixed.lint(settings).findings


def test_every_rule_has_programs_and_a_code() -> None:
    codes = {rule.code for rule in RULES}
    assert set(FIRES) == set(SILENT) == set(FIXES) == codes
    assert codes <= set(CODES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_only_collectives_that_run_several_times_may_be_moved_out_of_a_loop() -> None:
    ops = [
        f"  %t{step} = stablehlo.tanh %s{step} : tensor<16x8xf32>\n"
        f"  %a{step} = stablehlo.slice %t{step} [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>\n"
        f"  %b{step} = stablehlo.slice %t{step} [0:15, 0:8] : (tensor<16x8xf32>) -> tensor<15x8xf32>\n"
        f"  %s{step + 1} = stablehlo.concatenate %a{step}, %b{step}, dim = 0"
        " : (tensor<1x8xf32>, tensor<15x8xf32>) -> tensor<16x8xf32>"
        for step in range(9)
    ]
    head = "func.func @main(%s0: tensor<16x8xf32> X0) -> tensor<16x8xf32> {"
    shifts = "\n".join([head, *ops, "  return %s9 : tensor<16x8xf32>", "}"])
    (finding,) = findings(shifts, "SDY-S412")
    assert finding.notes[-1] == "one collective of all their data waits once: stack the tensors"
    (finding,) = findings(FIRES["SDY-S412"], "SDY-S412")
    assert finding.notes[-1].endswith("stack the tensors, or communicate after the loop")


def test_the_axis_of_equal_layers_is_moved_in_all_of_them_at_once() -> None:
    weights = ", ".join(f"%w{layer}: T X0 loc(\"p[{layer}]['up']\")" for layer in range(3))
    products = "\n".join(f"%{layer} = {PRODUCT.format(layer=layer)}" for layer in range(3))
    sums = "\n%3 = stablehlo.add %0, %1 : T\n%4 = stablehlo.tanh %2 : T\n%5 = stablehlo.add %3, %4 : T"
    (finding,) = findings(chain(f'%a: T N loc("a"), {weights}', products + sums, "T"), "SDY-S415")
    assert finding.message == "\"x\" shards dim 0 of p[0]['up'] (and 2 more likewise), where another dim costs less"
    assert finding.fix is not None
    assert len(finding.fix.fix.changes) == 3


def test_the_axis_of_a_constraint_is_moved() -> None:
    ops = "%0 = stablehlo.tanh %a : T\n%1 = sdy.sharding_constraint %0 @X1 : T\n%2 = stablehlo.abs %1 : T"
    finding = next(each for each in findings(chain("%a: T X0", ops), "SDY-S415") if "%1" in each.message)
    assert finding.fix is not None
    assert finding.fix.fix.text == "annotate %1 as [{\"x\"}, {}] or P('x', None)"
    assert finding.is_fixable


@pytest.mark.parametrize("is_donated", [True, False])
def test_the_moments_of_all_layers_are_sharded_like_the_weights_at_once(is_donated: bool) -> None:
    layers, arguments, ops, results = range(2), list[str](), list[str](), list[str]()
    for number, (name, dims) in enumerate((("p", '[{"x"}, {}]'), ("m", "[{}, {}]"), ("v", "[{}, {}]"))):
        for layer in layers:
            sharding = f"sdy.sharding = #sdy.sharding<@m, {dims}>"
            donation = f", tf.aliasing_output = {2 * number + layer} : i32" if is_donated else ""
            arguments.append(f'%{name}{layer}: T {{{sharding}{donation}}} loc("{name}[{layer}]")')
            results.append(f"T {{{sharding}}}")
    for layer in layers:
        ops += [
            f"%n{layer} = stablehlo.tanh %m{layer} : T",
            f"%u{layer} = stablehlo.abs %v{layer} : T",
            f"%s{layer} = stablehlo.divide %n{layer}, %u{layer} : T",
            f"%q{layer} = stablehlo.subtract %p{layer}, %s{layer} : T",
        ]
    returned = ", ".join(f"%{name}{layer}" for name in "qnu" for layer in layers)
    body = "\n".join([*ops, f"return {returned} : {', '.join('T' for _ in results)}"])
    (finding,) = findings(
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n{body}\n}}", "SDY-S416"
    )
    assert finding.message == "m[0] (and 3 more likewise) is updated together with p[0], but sharded less"
    assert finding.is_fixable
    assert finding.fix is not None
    assert len(finding.fix.fix.changes) == 8  # the moments and their results


LOOP_OF_TWO = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>})
    -> (tensor<i32>, tensor<64x64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = "stablehlo.while"(%zero, %a) ({
  ^bb0(%i: tensor<i32>, %v: tensor<64x64xf32>):
    %1 = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<64x64xf32>):
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %v : tensor<64x64xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<64x64xf32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, []>, <@m, [{?}, {"x", ?}]>]>}
      : (tensor<i32>, tensor<64x64xf32>) -> (tensor<i32>, tensor<64x64xf32>)
  return %0#0, %0#1 : tensor<i32>, tensor<64x64xf32>
}
"""


def test_an_axis_is_lost_at_the_result_of_a_loop_that_has_the_conflict() -> None:
    linted = sdy.Program.from_text(LOOP_OF_TWO, "p.mlir").without_optimizer().lint(LintSettings(select=("SDY-S417",)))
    (found,) = linted.findings
    assert found.fix
    assert found.fix.fix.text == "annotate %0#1 as [{\"x\", ?}, {?}] or P('x', P.UNCONSTRAINED)"
