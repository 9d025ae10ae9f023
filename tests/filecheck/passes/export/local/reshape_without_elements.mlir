// The shards of a tensor without elements have none either, so they can be reshaped whatever their shardings are.
// RUN: sdy-opt %s --sdy-convert-global-to-local | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<4x0xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>})
    -> (tensor<0x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}) {
  %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"a"}]>]>} : (tensor<4x0xf32>) -> tensor<0x8xf32>
  return %0 : tensor<0x8xf32>
}

// CHECK: func.func @main(%arg0: tensor<2x0xf32>
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {{.*}} : (tensor<2x0xf32>) -> tensor<0x4xf32>
// CHECK-NEXT: return %0 : tensor<0x4xf32>
