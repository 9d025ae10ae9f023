"""A program with equal layers is searched with these folded, and its plan is that of the program with all layers."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp

import sdy
from sdy.advice.edits import Edit, edited
from sdy.compile.options import DEFAULT, CompileOptions
from sdy.cost.hardware import Hardware
from sdy.cost.machines.table import HARDWARE
from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.stablehlo.elementwise import TanhOp
from sdy.passes.export.layers.fold_layers import has_folded_layers
from sdy.report.notation import read_mesh
from sdy.search.layered_search import FoldedProgram, LayeredSearch, folded_program
from sdy.search.plans import search_plan
from sdy.search.plans.search_plan import folded_cost
from sdy.search.search_end import SearchEnd
from sdy.search.search_request import search_request
from sdy.search.searched_module import prepared_module, without_shardings
from sdy.search.sharding_search import SearchResult, ShardingSearch

LAYERS, OPS = 24, 18
MACHINE, MESH = HARDWARE["tpu_v5e"], read_mesh("data=4,model=2")
X, W = "tensor<2048x1024xf32>", "tensor<1024x1024xf32>"

SQUARE = f"func.func private @square(%a: {X}) -> {X} {{ %b = stablehlo.multiply %a, %a : {X} return %b : {X} }}"


def network(layers: int, *, with_calls: bool = False) -> str:
    """Return a network whose layers have a product, a tanh and other elementwise ops; `with_calls`, first a call."""
    weights = ", ".join(f"%w{layer}: {W}" for layer in range(layers))
    lines = [*([SQUARE] if with_calls else []), f"func.func @main(%x: {X}, {weights}) -> {X} {{"]
    value = "%x"
    for layer in range(layers):
        if with_calls:
            lines.append(f"  %c{layer} = func.call @square({value}) : ({X}) -> {X}")
            value = f"%c{layer}"
        lines.append(
            f"  %d{layer} = stablehlo.dot_general {value}, %w{layer}, contracting_dims = [1] x [0] : ({X}, {W}) -> {X}"
        )
        value = f"%d{layer}"
        for number in range(OPS):
            name = "tanh" if number == 0 else ("abs", "negate", "cosine")[number % 3]
            lines.append(f"  %v{layer}_{number} = stablehlo.{name} {value} : {X}")
            value = f"%v{layer}_{number}"
    return "\n".join([*lines, f"  return {value} : {X}", "}"])


@pytest.fixture(scope="module", name="written")
def written_program() -> ModuleOp:
    return without_shardings(sdy.Program.from_text(network(LAYERS)).module, MESH)


@pytest.fixture(scope="module", name="folded")
def folded_module(written: ModuleOp) -> FoldedProgram:
    found = folded_program(written)
    assert found is not None
    return found


def price(module: ModuleOp) -> ProgramCost:
    if has_folded_layers(module):
        return folded_cost(module, MACHINE, MACHINE.hbm_bytes, DEFAULT)
    return sdy.Program.from_module(module).cost(MACHINE)


def searched(folded: FoldedProgram, seconds: float = 60.0) -> SearchResult:
    on_mesh = prepared_module(folded.written).on(MESH)
    return LayeredSearch(folded, on_mesh, search_request(MACHINE), price).run(seconds)


def test_an_edit_of_a_layer_stands_for_all_layers(written: ModuleOp, folded: FoldedProgram) -> None:
    layer = next(func for name, func in functions_of(folded.module).items() if name != "main")
    (tanh,) = (op for op in layer.walk() if isinstance(op, TanhOp))
    sharding = sdy.parse_sharding('<@mesh, [{"data"}, {}]>')
    argument, copied = main_function(written).body.block.args[1], main_function(folded.module).body.block.args[1]
    edits = folded.unfolded([Edit(copied, sharding), Edit(tanh.result, sharding), Edit(0, sharding)])
    tanhs = [op.result for op in written.walk() if isinstance(op, TanhOp)]
    assert [edit.target for edit in edits] == [argument, *tanhs, 0]
    assert len(tanhs) == LAYERS


def test_a_short_program_is_not_folded() -> None:
    assert folded_program(sdy.Program.from_text(network(2)).module) is None


def test_the_cost_of_folded_layers_is_that_of_all_layers(written: ModuleOp, folded: FoldedProgram) -> None:
    sharding = sdy.parse_sharding('<@mesh, [{"data"}, {}]>')
    batch = [Edit(main_function(folded.module).body.block.args[0], sharding)]
    own, of_all = price(edited(folded.module, batch)[0]), price(edited(written, folded.unfolded(batch))[0])
    assert own.seconds_in_turn == pytest.approx(of_all.seconds_in_turn, rel=0.01)
    assert own.peak_bytes == pytest.approx(of_all.peak_bytes, rel=0.1)


def test_folding_finds_the_plan_that_the_search_of_all_layers_finds(written: ModuleOp, folded: FoldedProgram) -> None:
    found = searched(folded)
    on_mesh = prepared_module(written).on(MESH)
    other = ShardingSearch(written, on_mesh, search_request(MACHINE), price, is_large=True).run(60.0)
    assert found.best.edits
    assert price(edited(written, found.best.edits)[0]) == found.best.cost
    assert found.best.cost.seconds_in_turn <= other.best.cost.seconds_in_turn * 1.02


def test_a_layer_that_begins_with_a_call_is_not_taken_for_that_call() -> None:
    written = without_shardings(sdy.Program.from_text(network(LAYERS, with_calls=True)).module, MESH)
    folded = folded_program(written)
    assert folded is not None
    layers = [op for op in main_function(folded.module).walk() if isinstance(op, CallOp)]
    assert [folded.originals[op.results[0]] for op in layers] == [[]] * len(layers)
    found = searched(folded)
    assert found.best.edits
    assert price(edited(written, found.best.edits)[0]) == found.best.cost


def test_large_programs_are_searched_with_folded_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdy.compile.written_program.LARGE", 100)
    priced: list[ModuleOp] = []

    def recorded(module: ModuleOp, hardware: Hardware, free_bytes: float, options: CompileOptions) -> ProgramCost:
        priced.append(module)
        return folded_cost(module, hardware, free_bytes, options)

    monkeypatch.setattr(search_plan, "folded_cost", recorded)
    plan = sdy.Program.from_text(network(LAYERS)).search(mesh="data=4,model=2", time_limit=60)
    assert len(priced) == plan.tried > 1
    assert plan.cost.seconds_in_turn < plan.before.seconds_in_turn / 3  # of small kernels, which take 1.7 us at least
    assert plan.cost == plan.program.cost(MACHINE)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SdyError(Diagnostic("SDY-T251", "no price", None))])
def test_a_plan_without_a_price_of_all_layers_has_that_of_the_folded_ones(
    folded: FoldedProgram, error: BaseException
) -> None:
    on_mesh = prepared_module(folded.written).on(MESH)

    def failing(module: ModuleOp) -> ProgramCost:
        if not has_folded_layers(module):
            raise error
        return price(module)

    found = LayeredSearch(folded, on_mesh, search_request(MACHINE), failing).run(60.0)
    assert (found.end is SearchEnd.INTERRUPT) == isinstance(error, KeyboardInterrupt)
    assert bool(found.best.edits) == (found.end is SearchEnd.INTERRUPT)  # a plan that cannot be partitioned is none
