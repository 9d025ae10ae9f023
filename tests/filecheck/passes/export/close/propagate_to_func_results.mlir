// Result attributes follow the returned values, but for main.
// RUN: sdy-opt %s --sdy-propagate-to-func-results | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>})
    -> (tensor<4xf32>, tensor<4xf32> {keep, sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) {
  %0 = stablehlo.abs %x : tensor<4xf32>
  return %x, %0 : tensor<4xf32>, tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}, tensor<4xf32> {keep}) {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<4xf32>
// CHECK-NEXT: return %arg0, %0 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
