"""The costs of transfers: those of the collectives with which the partitioner reshards."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import pytest

import sdy
from sdy.cost.hardware import Switch, Torus
from sdy.cost.machines.table import HARDWARE
from sdy.grammar.write import write_sharding
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import NumberedDigits
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Layout
from sdy.search.transfer_costs import Objective, TransferCosts

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
DIGITS = NumberedDigits.full_axes(MESH)
MACHINE = HARDWARE["tpu_v5e"]
COSTS = TransferCosts(DIGITS, MACHINE)
SIZE = 1024 * 4096 * 4
LAYOUTS = [Layout((first, second)) for first, second in product(((), (0,), (1,), (0, 1)), repeat=2)
           if not set(first) & set(second)]  # fmt: skip


def text(layout: Layout) -> str:
    return write_sharding(TensorSharding("m", tuple(DimSharding(DIGITS.join(dim)) for dim in layout.dims)))


def resharding(source: Layout, target: Layout) -> sdy.Program:
    """Return a program whose argument has one layout, and its result another one."""
    return sdy.Program.from_text(f"""
        sdy.mesh @m = <["x"=4, "y"=2]>
        func.func @main(%a: tensor<1024x4096xf32> {{sdy.sharding = #sdy.sharding{text(source)}}})
            -> (tensor<1024x4096xf32> {{sdy.sharding = #sdy.sharding{text(target)}}}) {{
          return %a : tensor<1024x4096xf32>
        }}""")


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in LAYOUTS for b in LAYOUTS if a != b])
def test_a_reshard_costs_what_its_collectives_cost(source: Layout, target: Layout) -> None:
    cost = resharding(source, target).partition().cost(MACHINE)
    seconds = float(COSTS.table([source], [target], SIZE, Objective())[0, 0])
    sent = float(COSTS.table([source], [target], SIZE, Objective(seconds=0.0, bytes_sent=1.0))[0, 0])
    assert sent == pytest.approx(sum(each.bytes_sent for each in cost.collectives))
    # The partitioned program computes the offsets of slices too, which takes nanoseconds. After two all-to-alls it
    # orders the parts, which the search does not see.
    is_ordered = {each.kind.value for each in cost.collectives} == {"all-to-all"} and len(cost.collectives) > 1
    assert seconds == pytest.approx(cost.seconds_in_turn, rel=0.15 if is_ordered else 1e-3)


def test_partial_values_are_reduced_or_scattered() -> None:
    partial, scattered, summed = Layout(((), ()), (0,)), Layout(((0,), ())), Layout(((), ()))
    to_scattered, to_summed = COSTS.table([partial], [scattered, summed], SIZE, Objective(0.0, 1.0))[0]
    assert to_scattered == pytest.approx(SIZE * 3 / 4)
    assert to_summed <= 2 * to_scattered  # devices along the other axis share the work
    (back,) = COSTS.table([summed], [partial], SIZE, Objective())[0]
    assert back == inf


def test_equal_layouts_cost_nothing_and_small_ones_at_least_the_latency() -> None:
    network = MACHINE.network
    assert isinstance(network, Torus)
    whole, sharded = Layout(((), ())), Layout(((0,), ()))
    assert COSTS.table([whole, sharded], [whole, sharded], SIZE, Objective()).diagonal().tolist() == [0.0, 0.0]
    tiny = float(COSTS.table([sharded], [whole], 64, Objective())[0, 0])
    assert tiny == pytest.approx(network.start_seconds + 3 * network.hop_seconds, rel=1e-3)
    assert COSTS.table([sharded], [whole], 64, Objective(latency=0.1))[0, 0] == pytest.approx(tiny / 10, rel=1e-3)


def test_an_all_reduce_in_a_node_takes_its_ramp() -> None:
    gpu = HARDWARE["h100"]
    costs = TransferCosts(DIGITS, gpu)
    partial, summed = Layout(((), ()), (0, 1)), Layout(((), ()))
    assert isinstance(gpu.network, Switch)
    (seconds,) = costs.table([partial], [summed], SIZE, Objective())[0]
    without = TransferCosts(DIGITS, replace(gpu, network=replace(gpu.network, ramp_seconds=0.0)))
    (faster,) = without.table([partial], [summed], SIZE, Objective())[0]
    assert seconds - faster == pytest.approx(gpu.network.ramp(SIZE))
