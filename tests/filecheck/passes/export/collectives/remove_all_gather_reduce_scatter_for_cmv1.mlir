// Gathers before a product go, else the scattering behind it.
// RUN: sdy-opt %s --sdy-remove-all-gather-reduce-scatter-for-cmv1 | filecheck %s

sdy.mesh @m = <["a"=2]>

// CHECK-LABEL: func.func @gathered
// CHECK-NEXT:  stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>}
func.func @gathered(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %y: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = sdy.all_gather [{"a"}, {}] %x out_sharding=<@m, [{}, {}]> : tensor<4x8xf32>
  %1 = stablehlo.dot %0, %y {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>}
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @scattered
// CHECK-NEXT:  %[[D:.*]] = stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>]>}
// CHECK-NEXT:  return %[[D]]
func.func @scattered(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>},
    %y: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<4x2xf32> {
  %0 = stablehlo.dot %x, %y {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>}
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = sdy.reduce_scatter [{"a"}, {}] %0 out_sharding=<@m, [{"a"}, {}]> : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
