// Dims are cut only as far as they divide, and by sub-axes of one split of their axis.
// RUN: sdy-opt %s --sdy-update-non-divisible-input-output-shardings | filecheck %s

sdy.mesh @m = <["a"=4, "b"=3, "c"=12]>
func.func @main(%0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}p2]>},
    %1: tensor<9xf32> {sdy.sharding = #sdy.sharding<@m, [{"c"}p1]>},
    %2: tensor<10xf32> {sdy.sharding = #sdy.sharding<@m, [{"c":(2)6, ?}]>},
    %3: tensor<5xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}p3], replicated={"b"}>})
    -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a", ?}]>}) {
  return %0 : tensor<6xf32>
}
func.func private @two_splits(%0: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"c":(1)2, "b"}, {"c":(3)2, "a"}p3], replicated={"c":(6)2}>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2, "c":(3)2}], unreduced={"c":(1)2}>}) {
  %1 = stablehlo.constant dense<0.0> : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=4, "b"=3, "c"=12]>
// CHECK-NEXT: func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2}]>}, %arg1: tensor<9xf32> {sdy.sharding = #sdy.sharding<@m, [{"c":(1)3}]>}, %arg2: tensor<10xf32> {sdy.sharding = #sdy.sharding<@m, [{"c":(2)2, ?}]>}, %arg3: tensor<5xf32> {sdy.sharding = #sdy.sharding<@m, [{?}], replicated={"b"}>}) -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a":(1)2, ?}]>}) {
// CHECK-NEXT: return %arg0 : tensor<6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @two_splits(%arg0: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"c":(1)2, "b"}, {}], replicated={"c":(6)2}>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2}], unreduced={"c":(1)2}>}) {
// CHECK-NEXT: %cst = stablehlo.constant
// CHECK-NEXT: return %cst : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
