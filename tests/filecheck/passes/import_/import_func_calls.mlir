// Calls become named computations with the body of their function.
// RUN: sdy-opt %s --sdy-flatten-call-graph --sdy-import-func-calls | filecheck %s

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
// CHECK-NEXT: %0 = sdy.named_computation<"leaf">(%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT: %6 = sdy.data_flow_edge %arg1 : tensor<4xf32>
// CHECK-NEXT: %7 = stablehlo.tanh %6 : tensor<4xf32>
// CHECK-NEXT: sdy.return %7 : tensor<4xf32>
// CHECK-NEXT: } : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = sdy.data_flow_edge %0 : tensor<4xf32>
// CHECK-NEXT: %2 = sdy.named_computation<"mid">(%1) in_shardings=[<@m, [{"a"}]>] (%arg1: tensor<4xf32>) {
// CHECK-NEXT: %6 = sdy.data_flow_edge %arg1 sharding=<@m, [{"a"}]> : tensor<4xf32>
// CHECK-NEXT: %7 = sdy.named_computation<"leaf">(%6) (%arg2: tensor<4xf32>) {
// CHECK-NEXT: %9 = sdy.data_flow_edge %arg2 : tensor<4xf32>
// CHECK-NEXT: %10 = stablehlo.tanh %9 : tensor<4xf32>
// CHECK-NEXT: sdy.return %10 : tensor<4xf32>
// CHECK-NEXT: } : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %8 = sdy.data_flow_edge %7 : tensor<4xf32>
// CHECK-NEXT: sdy.return %8 : tensor<4xf32>
// CHECK-NEXT: } : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %3 = sdy.data_flow_edge %2 : tensor<4xf32>
// CHECK-NEXT: %4 = sdy.named_computation<"mid">(%3) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"b"}]>] (%arg1: tensor<4xf32>) {
// CHECK-NEXT: %6 = sdy.data_flow_edge %arg1 sharding=<@m, [{"a"}]> : tensor<4xf32>
// CHECK-NEXT: %7 = sdy.named_computation<"leaf">(%6) (%arg2: tensor<4xf32>) {
// CHECK-NEXT: %9 = sdy.data_flow_edge %arg2 : tensor<4xf32>
// CHECK-NEXT: %10 = stablehlo.tanh %9 : tensor<4xf32>
// CHECK-NEXT: sdy.return %10 : tensor<4xf32>
// CHECK-NEXT: } : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %8 = sdy.data_flow_edge %7 : tensor<4xf32>
// CHECK-NEXT: sdy.return %8 : tensor<4xf32>
// CHECK-NEXT: } : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %5 = sdy.data_flow_edge %4 sharding=<@m, [{"b"}]> : tensor<4xf32>
// CHECK-NEXT: return %5 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
