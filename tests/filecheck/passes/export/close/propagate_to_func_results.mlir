// Result attributes follow the returned values. In main, tensors keep a sharding that they have, and tokens get none.
// RUN: sdy-opt %s --sdy-propagate-to-func-results | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, %t: !stablehlo.token {sdy.sharding = #sdy.sharding<@m, []>})
    -> (tensor<4xf32>, tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}]>}, !stablehlo.token, tensor<4xf32>) {
  %0 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<4xf32>
  return %0, %x, %t, %x : tensor<4xf32>, tensor<4xf32>, !stablehlo.token, tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>})
    -> (tensor<4xf32>, tensor<4xf32> {jax.keep, sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) {
  %0 = stablehlo.abs %x : tensor<4xf32>
  return %x, %0 : tensor<4xf32>, tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, %arg1: !stablehlo.token {sdy.sharding = #sdy.sharding<@m, []>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}]>}, !stablehlo.token, tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<4xf32>
// CHECK-NEXT: return %0, %arg0, %arg1, %arg0 : tensor<4xf32>, tensor<4xf32>, !stablehlo.token, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, tensor<4xf32> {jax.keep}) {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<4xf32>
// CHECK-NEXT: return %arg0, %0 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
