from __future__ import annotations

import numpy as np
from support.execution.run_text import error_of, f32, i32, run_op

MATRIX = np.arange(6, dtype=np.int32).reshape(2, 3)


def test_iota_counts_along_its_dim() -> None:
    result = run_op("stablehlo.iota dim = 1 : tensor<2x3xf32>", "tensor<2x3xf32>")
    assert result.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_broadcast_in_dim_may_reorder_dims() -> None:
    line = "stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xi32>) -> tensor<3x4x2xi32>"
    result = run_op(line, "tensor<3x4x2xi32>", a=MATRIX)
    assert (result == np.broadcast_to(MATRIX.T[:, None, :], (3, 4, 2))).all()


def test_legacy_broadcast_adds_leading_dims() -> None:
    line = '"stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<2xi32>) -> tensor<2x2xi32>'
    assert run_op(line, "tensor<2x2xi32>", a=i32(1, 2)).tolist() == [[1, 2], [1, 2]]


def test_shapes_may_be_operands() -> None:
    line = "stablehlo.dynamic_reshape %a, %s : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<?x?xi32>"
    assert run_op(line, "tensor<?x?xi32>", a=MATRIX, s=i32(3, 2)).shape == (3, 2)
    line = "stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<3xi32>, tensor<2xi32>) -> tensor<?x?xi32>"
    assert run_op(line, "tensor<?x?xi32>", a=i32(1, 2, 3), s=i32(2, 3)).shape == (2, 3)


def test_dynamic_reshape_infers_the_unknown_size() -> None:
    line = "stablehlo.reshape %a : (tensor<2x3xi32>) -> tensor<3x?xi32>"
    assert run_op(line, "tensor<3x?xi32>", a=MATRIX).shape == (3, 2)


def test_sizes_of_dims() -> None:
    line = "stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>"
    assert run_op(line, "tensor<i32>", a=MATRIX) == 3
    line = "stablehlo.set_dimension_size %a, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x?xi32>"
    assert run_op(line, "tensor<2x?xi32>", a=MATRIX, n=np.array(2, np.int32)).tolist() == [[0, 1], [3, 4]]


def test_negative_padding_removes_and_interior_padding_inserts_elements() -> None:
    line = (
        "stablehlo.pad %a, %v, low = [-1], high = [2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<6xi32>"
    )
    assert run_op(line, "tensor<6xi32>", a=i32(1, 2, 3), v=np.array(9, np.int32)).tolist() == [9, 2, 9, 3, 9, 9]


def test_padding_may_remove_all_elements() -> None:
    line = (
        "stablehlo.pad %a, %v, low = [-4], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>"
    )
    assert run_op(line, "tensor<1xi32>", a=i32(1, 2, 3), v=np.array(9, np.int32)).tolist() == [9]


def test_padding_amounts_may_be_operands() -> None:
    types = "(tensor<2xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>"
    line = f"stablehlo.dynamic_pad %a, %v, %l, %h, %i : {types}"
    amounts = {"l": i32(1), "h": i32(0), "i": i32(1)}
    assert run_op(line, "tensor<?xi32>", a=i32(1, 2), v=np.array(0, np.int32), **amounts).tolist() == [0, 1, 0, 2]


def test_start_indices_of_dynamic_slices_are_clamped() -> None:
    line = "stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xi32>, tensor<ui8>) -> tensor<2xi32>"
    assert run_op(line, "tensor<2xi32>", a=i32(1, 2, 3, 4), i=np.array(255, np.uint8)).tolist() == [3, 4]
    line = "stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>"
    operands = {"a": i32(1, 2, 3, 4), "u": i32(8, 9), "i": np.array(-5, np.int32)}
    assert run_op(line, "tensor<4xi32>", **operands).tolist() == [8, 9, 3, 4]


def test_bounds_of_slices_may_be_operands() -> None:
    types = "(tensor<5xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>"
    line = f"stablehlo.real_dynamic_slice %a, %s, %l, %t : {types}"
    assert run_op(line, "tensor<?xf32>", a=f32(0, 1, 2, 3, 4), s=i32(1), l=i32(5), t=i32(2)).tolist() == [1, 3]


def test_unknown_mesh_is_reported() -> None:
    found = error_of(
        """
        func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0 = "stablehlo.all_gather"(%a) <{
            all_gather_dim = 0 : i64,
            replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>
          }> : (tensor<2xi32>) -> tensor<2xi32>
          return %0 : tensor<2xi32>
        }""",
        i32(1, 2),
    )
    assert found.code == "SDY-X004"
    assert "@m" in found.message
