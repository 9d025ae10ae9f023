"""Valid texts of programs that few people write: they run, or end with a diagnostic."""

from __future__ import annotations

import pytest

import sdy

EMPTY = "%0 = stablehlo.constant dense<0.0> : tensor<0xf32>\n  return %x : tensor<4x8xf32>"
TO_INTEGERS = """%0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xi32>
  return %x : tensor<4x8xf32>"""
SLICES = """%rows = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[1, SIZE]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%x, %rows, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %x : tensor<4x8xf32>"""


def program(body: str, axis: int = 2) -> sdy.Program[object]:
    sharded = '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}'
    header = (
        f'sdy.mesh @mesh = <["x"={axis}]>\nfunc.func @main(%x: tensor<4x8xf32> {sharded}) -> tensor<4x8xf32> {{\n  '
    )
    return sdy.Program.from_text(header + body + "\n}\n", "odd.mlir")  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("body", [EMPTY, TO_INTEGERS, SLICES.replace("SIZE", "8")], ids=["empty", "integers", "slices"])
def test_it_runs(body: str) -> None:
    odd = program(body)
    assert all(each.agrees for each in odd.verify())


@pytest.mark.parametrize("size", ["-1", "9", "2147483647"])
def test_sizes_of_slices_that_do_not_fit_are_reported_at_the_op(size: str) -> None:
    with pytest.raises(sdy.SdyError) as raised:
        program(SLICES.replace("SIZE", size)).verify()
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.span and diagnostic.span.line) == ("SDY-X018", 5)


def test_shards_that_do_not_fit_into_memory_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def regridded(*_: object) -> None:
        raise MemoryError("Unable to allocate 128. GiB for an array")

    monkeypatch.setattr("sdy.interpreter.run.regridded", regridded)
    with pytest.raises(sdy.SdyError, match=r"not enough memory: unable to allocate 128\. GiB") as raised:
        program(EMPTY).verify()
    assert raised.value.diagnostics[0].code == "SDY-X017"


def test_a_mesh_of_a_huge_prime_is_priced_at_once() -> None:
    odd = program("return %x : tensor<4x8xf32>", 2**61 - 1)
    assert odd.cost("tpu_v5e").bytes_sent == 0
