// Edges are inserted across calls, but not at the arguments of main.
// RUN: sdy-opt %s --sdy-add-func-data-flow-edges | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @mid(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @mid(%1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @mid(%p: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
  %0 = call @leaf(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @leaf(%p: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) {
  %0 = stablehlo.tanh %p : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = call @leaf(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = sdy.func_data_flow_edge %0 : tensor<4xf32>
// CHECK-NEXT: %2 = call @mid(%1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %3 = sdy.func_data_flow_edge %2 : tensor<4xf32>
// CHECK-NEXT: %4 = call @mid(%3) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %5 = sdy.func_data_flow_edge %4 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : tensor<4xf32>
// CHECK-NEXT: return %5 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @mid(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} : tensor<4xf32>
// CHECK-NEXT: %1 = call @leaf(%0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = sdy.func_data_flow_edge %1 : tensor<4xf32>
// CHECK-NEXT: return %2 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @leaf(%arg0: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) {
// CHECK-NEXT: %0 = sdy.func_data_flow_edge %arg0 : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.tanh %0 : tensor<4xf32>
// CHECK-NEXT: return %1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
