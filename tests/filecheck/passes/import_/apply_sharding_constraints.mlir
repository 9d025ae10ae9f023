// A closed constraint is copied to its input; later uses use the end of a chain.
// RUN: sdy-opt %s --sdy-apply-sharding-constraints | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @plain(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.negate %x : tensor<4x4xf32>
  %1 = stablehlo.abs %0 : tensor<4x4xf32>
  %2 = sdy.sharding_constraint %0 <@m, [{"a"}, {"b"}]> : tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
func.func @chain(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = stablehlo.abs %x : tensor<4x4xf32>
  %0 = sdy.sharding_constraint %e <@m, [{"a", ?}, {?}]> : tensor<4x4xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{}, {"b"}]> : tensor<4x4xf32>
  %2 = stablehlo.negate %e : tensor<4x4xf32>
  return %1, %2, %e : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
func.func @edge(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.optimization_barrier %x : tensor<4x4xf32>
  %1 = sdy.data_flow_edge %0 : tensor<4x4xf32>
  %2 = stablehlo.abs %1 : tensor<4x4xf32>
  %3 = sdy.sharding_constraint %1 <@m, [{"a"}, {}]> : tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

func.func @fully_open(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}]>},
    %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}p1]>}) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %x <@m, [{"a"}]> : tensor<4xf32>
  %1 = sdy.sharding_constraint %y <@m, [{"a"}]> : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @plain(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK-NEXT: %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {"b"}]>]>} : tensor<4x4xf32>
// CHECK-NEXT: %1 = stablehlo.abs %0 : tensor<4x4xf32>
// CHECK-NEXT: %2 = sdy.sharding_constraint %0 <@m, [{"a"}, {"b"}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=4}>} : tensor<4x4xf32>
// CHECK-NEXT: return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @chain(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<4x4xf32>
// CHECK-NEXT: %1 = sdy.sharding_constraint %0 <@m, [{"a", ?}, {?}]> : tensor<4x4xf32>
// CHECK-NEXT: %2 = sdy.sharding_constraint %1 <@m, [{}, {"b"}]> : tensor<4x4xf32>
// CHECK-NEXT: %3 = stablehlo.negate %2 : tensor<4x4xf32>
// CHECK-NEXT: return %2, %3, %0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @edge(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK-NEXT: %0 = stablehlo.optimization_barrier %arg0 : tensor<4x4xf32>
// CHECK-NEXT: %1 = sdy.data_flow_edge %0 : tensor<4x4xf32>
// CHECK-NEXT: %2 = sdy.sharding_constraint %1 <@m, [{"a"}, {}]> : tensor<4x4xf32>
// CHECK-NEXT: %3 = stablehlo.abs %2 : tensor<4x4xf32>
// CHECK-NEXT: return %3, %2 : tensor<4x4xf32>, tensor<4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @fully_open(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}p1]>}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = sdy.sharding_constraint %arg0 <@m, [{"a"}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=4}>} : tensor<4xf32>
// CHECK-NEXT: %1 = sdy.sharding_constraint %arg1 <@m, [{"a"}]> : tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.add %0, %1 : tensor<4xf32>
// CHECK-NEXT: return %2 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
