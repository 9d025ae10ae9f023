"""The search ends with the best plan so far when the user interrupts it, or when time is up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.cost.machines.table import HARDWARE
from sdy.cost.program_cost import ProgramCost
from sdy.model.mesh import Mesh
from sdy.report.notation import read_mesh
from sdy.search.search_end import Progress, SearchEnd
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import Partition, search_request
from sdy.search.searched_module import PreparedModule, SearchedModule, prepared_module, without_shardings
from sdy.search.sharding_search import SearchResult, ShardingSearch
from sdy.search.solutions import Solution
from sdy.search.transfer_costs import Objective

MACHINE = HARDWARE["tpu_v5e"]
PROGRAM = """
func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
"""


def searched(calls: int, error: type[BaseException], seconds: float = 60.0) -> SearchResult:
    """Search with a price that raises an error after some calls."""
    mesh, left = read_mesh("data=8"), iter(range(calls))
    module = without_shardings(sdy.Program.from_text(PROGRAM).module, mesh)

    def price(annotated: ModuleOp) -> ProgramCost:
        if next(left, None) is None:
            raise error
        return sdy.Program.from_module(annotated).cost(MACHINE)

    searched = prepared_module(module).on(mesh)
    return ShardingSearch(module, searched, search_request(MACHINE), price).run(seconds)


def test_an_interrupt_returns_the_best_plan_so_far() -> None:
    result = searched(3, KeyboardInterrupt)
    assert not result.end.is_complete
    assert result.tried == 3
    assert result.before is not None
    assert result.best.cost.seconds_in_turn < result.before.seconds_in_turn / 4


def test_an_interrupt_before_the_first_plan_returns_the_program_as_it_was() -> None:
    result = searched(1, KeyboardInterrupt)
    assert (result.tried, len(result.best.edits)) == (1, 0)


def test_another_error_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        searched(2, ZeroDivisionError)


def test_without_time_the_program_stays_as_it_was() -> None:
    result = searched(1000, KeyboardInterrupt, seconds=0.0)
    assert (result.end, result.tried, len(result.best.edits)) == (SearchEnd.TIME_UP, 1, 0)


def test_a_search_stops_inside_of_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock passes the limit at a pass of the second candidate, whose price nobody waits for."""
    clock = iter([0.0] * 20)
    monkeypatch.setattr("sdy.diagnostics.progress.monotonic", lambda: next(clock, 100.0))
    monkeypatch.setattr("sdy.search.sharding_search.monotonic", lambda: 0.0)
    result = searched(1000, KeyboardInterrupt)
    assert result.end is SearchEnd.TIME_UP
    assert result.tried == 1


def test_a_later_mesh_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    run = ShardingSearch.run

    def recorded(search: ShardingSearch, seconds: float) -> SearchResult:
        shares.append(seconds)
        return run(search, 0.0)

    monkeypatch.setattr(ShardingSearch, "run", recorded)
    sdy.Program.from_text(PROGRAM).search(devices=8, time_limit=60.0)
    assert len(shares) == 3
    assert all(0.8 < share / whole <= 1 for share, whole in zip(shares, (20, 30, 60), strict=True))
    assert shares == sorted(shares)  # what one mesh leaves is shared by the others


def test_meshes_are_compared_in_a_share_of_the_time() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(devices=8, time_limit=0.0)
    assert len(plan.mesh.axes) == 1  # the first mesh is always searched
    assert plan.untried_meshes == plan.to_json()["untried_meshes"] == 2
    assert not plan.is_complete
    assert "Time was up before 2 more meshes were compared" in " ".join(plan.report().split())


@pytest.mark.parametrize(("best", "first_of_three_axes"), [((16, 4), (16, 2, 2)), ((8, 8), (8, 4, 2))])
def test_meshes_that_split_an_axis_of_the_best_one_come_first(
    monkeypatch: pytest.MonkeyPatch, best: tuple[int, ...], first_of_three_axes: tuple[int, ...]
) -> None:
    compared: list[tuple[int, ...]] = []
    on, solve = PreparedModule.on, SearchNetworks.solve

    def recorded(prepared: PreparedModule, mesh: Mesh, name: str) -> SearchedModule:
        compared.append(tuple(axis.size for axis in mesh.axes))
        return on(prepared, mesh, name)

    def ranked(networks: SearchNetworks, objective: Objective, seconds: float) -> Solution | None:
        solution = solve(networks, objective, seconds)
        return None if solution is None else replace(solution, cost=float(compared[-1] != best), peak_bytes=0.0)

    monkeypatch.setattr(PreparedModule, "on", recorded)
    monkeypatch.setattr(SearchNetworks, "solve", ranked)
    sdy.Program.from_text(PROGRAM).search(devices=64, time_limit=10.0)
    with_three_axes = [sizes for sizes in compared if len(sizes) == 3]
    assert with_three_axes[0] == first_of_three_axes


def test_an_interrupt_ends_the_search_of_all_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []

    def interrupted(search: ShardingSearch, *_: object) -> SearchEnd:
        runs.append(search.searched.mesh)
        raise KeyboardInterrupt

    monkeypatch.setattr(ShardingSearch, "_beyond_first", interrupted)
    plan = sdy.Program.from_text(PROGRAM).search(devices=8)
    assert not plan.is_complete
    assert len(runs) == 1


def test_the_search_ends_early_if_no_plan_can_save_enough() -> None:
    tiny = sdy.Program.from_text(PROGRAM.replace("4096", "64").replace("1024", "32"))
    plan = tiny.search(mesh="data=4,model=2", on="tpu_v5e", time_limit=3600.0)
    assert plan.is_complete
    assert plan.tried <= 4  # the candidates of the first solution
    assert plan.cost == plan.before


def test_the_search_ends_at_the_bound_for_plans_whose_collectives_combine() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="data=4,model=2", on="tpu_v5e", time_limit=3600.0)
    assert plan.end is SearchEnd.BOUND
    assert plan.tried <= 8  # the candidates of the solutions
    assert "the best one reaches the lower bound" in " ".join(plan.report().split())
    assert plan.to_json()["end"] == "bound"


def test_the_search_ends_if_nothing_better_was_found_for_half_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 8.0, 9.0, 20.0, 20.0, 29.0, 31.0, 101.0))
    monkeypatch.setattr("sdy.search.search_end.monotonic", lambda: next(times))
    progress = Progress(end=100.0)
    assert [progress.reached_end(), progress.reached_end()] == [None, SearchEnd.NO_GAIN]
    progress.note_gain()
    ends = [progress.reached_end() for _ in range(4)]
    assert ends == [None, None, SearchEnd.NO_GAIN, SearchEnd.TIME_UP]


def test_a_search_with_a_longer_limit_goes_on_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 49.0, 51.0))
    monkeypatch.setattr("sdy.search.search_end.monotonic", lambda: next(times))
    progress = Progress(end=600.0)
    assert [progress.reached_end(), progress.reached_end()] == [None, SearchEnd.NO_GAIN]


def test_the_report_says_that_the_optimizer_is_chosen() -> None:
    text = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4096x1024xf32> {
  %0 = stablehlo.add %x, %x : tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
"""
    plan = sdy.Program.from_text(text).search(on="tpu_v5e")
    assert plan.partition is Partition.FASTEST
    assert "as in `sdy cost --minimize time`" in " ".join(plan.report().split())


def test_shardings_of_edges_and_computations_are_dropped() -> None:
    text = """sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.named_computation<"f">(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"b"}, {}]>]
      (%y: tensor<8x8xf32>) {
    %1 = stablehlo.tanh %y : tensor<8x8xf32>
    sdy.return %1 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2:2 = stablehlo.optimization_barrier %0, %w : tensor<8x8xf32>, tensor<8x8xf32>
  %3 = sdy.data_flow_edge %2#0 sharding=<@m, [{"a"}, {"b"}]> : tensor<8x8xf32>
  %4 = stablehlo.dot_general %3, %2#1, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}"""
    plan = sdy.Program.from_text(text).search(mesh="data=8", on="tpu_v5e", time_limit=5)
    assert [axis.name for axis in plan.mesh.axes] == ["data"]
