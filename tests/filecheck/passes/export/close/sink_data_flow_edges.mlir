// What the edges say goes to the op; edges without sharding count as open.
// RUN: sdy-opt %s --sdy-sink-data-flow-edges | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = stablehlo.optimization_barrier %x, %x : tensor<4xf32>, tensor<4xf32>
  %1 = sdy.data_flow_edge %0#0 sharding=<@m, [{"a"}]> : tensor<4xf32>
  %2 = sdy.data_flow_edge %0#1 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{?}]>]>} %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
