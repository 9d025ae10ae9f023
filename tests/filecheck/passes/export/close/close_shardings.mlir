// Dims close, priorities stay, replicated axes go; so in every place that holds a sharding.
// RUN: sdy-opt %s --sdy-close-shardings | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}], replicated={"b"}>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b", ?}], unreduced={"a"}>}) {
  %0 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b", ?}p1, {}]>]>} : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@m, [{?}, {"b", ?}], unreduced={"a"}> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"b"}], unreduced={"a"}>}) {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}p1, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT: %1 = sdy.reshard %0 <@m, [{}, {"b"}], unreduced={"a"}> : tensor<8x8xf32>
// CHECK-NEXT: return %1 : tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
