"""If no plan can fit in memory, the plan proves it and names the values that take the memory."""

from __future__ import annotations

from typing import Any

import pytest

import sdy

PROGRAM = """
func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<4096x1024xf32>
  return %1 : tensor<4096x1024xf32>
}
"""
BYTES = 4 * (4096 * 1024 + 1024 * 1024 + 4096 * 1024)  # the product is stored in the memory of the result


def test_a_plan_that_cannot_fit_names_the_values_that_need_the_memory() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="a=4,b=2", memory="1MB", time_limit=10)
    assert not plan.cost.fits
    assert plan.least_memory is not None
    assert plan.least_memory.bytes == BYTES // 8 <= plan.cost.peak_bytes
    assert [(each.source, each.count, each.bytes) for each in plan.least_memory.values] == [
        ("line 2", 1, 2**21),
        ("line 5", 1, 2**21),
        ("line 2", 1, 2**19),
    ]
    report = " ".join(plan.report().split())
    assert f"a device needs {BYTES // 8:,} bytes at one point" in report
    assert "│ line 5 │ tensor<4096x1024xf32> │ 1 │ 2,097,152 │" in report
    assert plan.gap is None  # the gap is to plans that fit, of which there are none
    assert "costs at most" not in report
    data: Any = plan.to_json()
    assert data["least_memory"]["values"][1] == {
        "source": "line 5",
        "type": "tensor<4096x1024xf32>",
        "count": 1,
        "bytes": 2**21,
    }


@pytest.mark.parametrize("memory", ["16GB", f"{BYTES // 8 + 2**22}"])
def test_a_plan_that_fits_has_no_least_memory(memory: str) -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="a=4,b=2", memory=memory, time_limit=10)
    assert plan.cost.fits
    assert plan.least_memory is None
    assert "most of the memory" not in plan.report()


def test_a_plan_that_was_only_not_found_proves_nothing() -> None:
    plan = sdy.Program.from_text(PROGRAM).search(mesh="a=4,b=2", memory=BYTES // 8 + 2**20, time_limit=10)
    assert not plan.cost.fits
    assert plan.least_memory is None
    assert "No plan was found that fits in memory; this is the one that needs the least." in plan.report(width=120)
