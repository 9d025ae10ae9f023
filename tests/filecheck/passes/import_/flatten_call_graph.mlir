// Each call has its own function; copies record the name of the original.
// RUN: sdy-opt %s --sdy-flatten-call-graph | filecheck %s

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
// CHECK-NEXT: %0 = call @leaf_0(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = call @mid(%0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = call @mid_2(%1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %2 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @mid(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = call @leaf(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @leaf(%arg0: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) {
// CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @leaf_0(%arg0: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) attributes {sdy.original_func_name = "leaf"} {
// CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @leaf_1(%arg0: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) attributes {sdy.original_func_name = "leaf"} {
// CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @mid_2(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> attributes {sdy.original_func_name = "mid"} {
// CHECK-NEXT: %0 = call @leaf_1(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
