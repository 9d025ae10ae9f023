// A slice of one element of a sharded dim becomes a gather, after slices along other dims; other slices stay.
// RUN: sdy-opt %s --sdy-look-up-slices | filecheck %s

sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %i: tensor<i32>)
    -> (tensor<4x1xf32>, tensor<8x1xf32>, tensor<8x2xf32>, tensor<1x16xf32>) {
  %0 = stablehlo.slice %a [0:8:2, 15:16] : (tensor<8x16xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.dynamic_slice %a, %i, %i, sizes = [8, 1] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x1xf32>
  %2 = stablehlo.slice %a [0:8, 0:4:2] : (tensor<8x16xf32>) -> tensor<8x2xf32>
  %3 = stablehlo.slice %a [0:1, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<8x16xf32>) -> tensor<1x16xf32>
  return %0, %1, %2, %3 : tensor<4x1xf32>, tensor<8x1xf32>, tensor<8x2xf32>, tensor<1x16xf32>
}

// CHECK: %0 = stablehlo.slice %arg0 [0:8:2, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<8x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<15> : tensor<1xi64>
// CHECK-NEXT: %1 = "stablehlo.gather"(%0, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, {{.*}}slice_sizes = array<i64: 4, 1>}> : (tensor<4x16xf32>, tensor<1xi64>) -> tensor<4x1xf32>
// CHECK-NEXT: %2 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, {{.*}}slice_sizes = array<i64: 8, 1>}> : (tensor<8x16xf32>, tensor<1xi32>) -> tensor<8x1xf32>
// CHECK-NEXT: %4 = stablehlo.slice %arg0 [0:8, 0:4:2] : (tensor<8x16xf32>) -> tensor<8x2xf32>
// CHECK-NEXT: %5 = stablehlo.slice %arg0 [0:1, 0:16]
