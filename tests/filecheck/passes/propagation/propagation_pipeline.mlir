// RUN: sdy-opt %s --split-input-file --sdy-propagation-pipeline | filecheck %s

// Reduced failures of random programs.

sdy.mesh @m = <["x"=2, "y"=4]>

// The sharding of the edge consists of manual axes only.
// CHECK-LABEL: func.func @manual_axes_propagate_backward
// CHECK-SAME:    %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}
// CHECK:         stablehlo.tanh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
func.func @manual_axes_propagate_backward(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %a : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x", ?}, {?}]>] out_shardings=[<@m, [{"x", ?}, {?}]>]
      manual_axes={"x"} (%b: tensor<4x8xf32>) {
    sdy.return %b : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

sdy.mesh @m = <["x"=2, "y"=4]>

// Both operands of a dead op, copies of one broadcast, are erased with it, and the other copies keep their order.
// CHECK-LABEL: func.func @operands_of_dead_ops
// CHECK-NEXT:    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}]>]>}
// CHECK-NEXT:    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:    %2 = stablehlo.negate %0
// CHECK-NEXT:    return %2, %1
func.func @operands_of_dead_ops(%p: tensor<i1>, %s: tensor<f32>)
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}, tensor<8xf32>) {
  %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.select %p, %0, %0 : tensor<i1>, tensor<8xf32>
  %2 = stablehlo.negate %0 : tensor<8xf32>
  return %2, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

sdy.mesh @m = <["x"=2, "y"=2]>

// A concatenation with an unreduced operand is resharded in full, though the sum of the operand is sharded like the result.
// CHECK-LABEL: func.func @concatenate_of_partial_sums
// CHECK:         sdy.all_reduce {"y"}
// CHECK:         %[[PARTS:.*]] = stablehlo.concatenate {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
// CHECK:         sdy.reshard %[[PARTS]] <@m, [{}, {"x"}]>
func.func @concatenate_of_partial_sums(%a: tensor<6xf32>) -> tensor<2x9xf32> {
  %0 = stablehlo.reshape %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {?}], unreduced={"y"}>]>}
      : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.iota dim = 1 : tensor<2x3xf32>
  %2 = stablehlo.concatenate %0, %1, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  return %2 : tensor<2x9xf32>
}

// -----

sdy.mesh @m = <["x"=2]>

// An operand without a sharding is unchanged if only unreduced axes are required.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @callee(%arg0)
func.func @main(%a: tensor<8xf32>) -> tensor<f32> {
  %0 = func.call @callee(%a) : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @callee(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}], unreduced={"x"}>}) -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}
