// Plain StableHLO is left, other attributes included.
// RUN: sdy-opt %s --sdy-drop-sharding-and-mesh | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@m, [{"a"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  %0 = stablehlo.abs %x {keep, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<8xf32> {jax.buffer_donor = true}) -> tensor<8xf32> {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 {keep} : tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
