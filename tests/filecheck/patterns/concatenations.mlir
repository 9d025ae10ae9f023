// Concatenations are local along unsharded dims; along sharded ones each shard sends what another one holds.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @along_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
      %b: tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<64x8xf32>, tensor<64x2xf32>) -> tensor<64x10xf32>
  return %0 : tensor<64x10xf32>
}
}
// CHECK-LABEL: module @along_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x2xf32>) -> tensor<16x10xf32> {
// CHECK-NEXT: %0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<16x8xf32>, tensor<16x2xf32>) -> tensor<16x10xf32>
// CHECK-NEXT: return %0 : tensor<16x10xf32>

// -----

module @along_a_sharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
      %b: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<128xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
}
// CHECK-LABEL: module @along_a_sharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> tensor<32xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[16, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c_0, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %2, %4, sizes = [16] : (tensor<32xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT{LITERAL}: %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 0], [2, 1]]> : tensor<3x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<[0, 16, 16, 0]> : tensor<4xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c_2, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %2, %8, sizes = [16] : (tensor<32xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT{LITERAL}: %10 = "stablehlo.collective_permute"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 2], [2, 3], [3, 1]]> : tensor<3x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %11 = stablehlo.concatenate %2, %6, %10, dim = 0 : (tensor<32xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<64xf32>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<[0, 32, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %12 = stablehlo.dynamic_slice %c_4, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %13 = stablehlo.reshape %12 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %14 = stablehlo.dynamic_slice %11, %13, sizes = [16] : (tensor<64xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<[32, 48, 48, 16]> : tensor<4xi64>
// CHECK-NEXT: %15 = stablehlo.dynamic_slice %c_6, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %16 = stablehlo.reshape %15 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %17 = stablehlo.dynamic_slice %11, %16, sizes = [16] : (tensor<64xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT: %18 = stablehlo.concatenate %14, %17, dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
// CHECK-NEXT: return %18 : tensor<32xf32>

// -----

// An expert would not concatenate all elements, of which each device keeps a quarter.
module @of_replicated_values {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<40xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>},
      %b: tensor<24xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<40xf32>, tensor<24xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_replicated_values {
// CHECK-NEXT: func.func @main(%arg0: tensor<40xf32>, %arg1: tensor<24xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<40xf32>, tensor<24xf32>) -> tensor<64xf32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %0, %4, sizes = [16] : (tensor<64xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT: return %5 : tensor<16xf32>

// -----

module @stacked {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
      %b: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<2x64xf32> {
  %0 = stablehlo.reshape %a : (tensor<64xf32>) -> tensor<1x64xf32>
  %1 = stablehlo.reshape %b : (tensor<64xf32>) -> tensor<1x64xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}
}
// CHECK-LABEL: module @stacked {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> tensor<2x16xf32> {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<1x16xf32>
// CHECK-NEXT: %1 = stablehlo.reshape %arg1 : (tensor<16xf32>) -> tensor<1x16xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: return %2 : tensor<2x16xf32>

// -----

module @interleaved {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
      %b: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<128xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<64xf32>) -> tensor<64x1xf32>
  %1 = stablehlo.reshape %b : (tensor<64xf32>) -> tensor<64x1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<64x2xf32>) -> tensor<128xf32>
  return %3 : tensor<128xf32>
}
}
// CHECK-LABEL: module @interleaved {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> tensor<32xf32> {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<16x1xf32>
// CHECK-NEXT: %1 = stablehlo.reshape %arg1 : (tensor<16xf32>) -> tensor<16x1xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x2xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<16x2xf32>) -> tensor<32xf32>
// CHECK-NEXT: return %3 : tensor<32xf32>

// -----

module @of_all_slices {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [0:10] : (tensor<64xf32>) -> tensor<10xf32>
  %1 = stablehlo.slice %a [10:64] : (tensor<64xf32>) -> tensor<54xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<10xf32>, tensor<54xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_all_slices {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: return %arg0 : tensor<16xf32>

// -----

// Halves are swapped by one permute, and the device alone decides which is negated.
module @rotary_halves {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
      -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.slice %a [0:16, 32:64] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %1 = stablehlo.negate %0 : tensor<16x32xf32>
  %2 = stablehlo.slice %a [0:16, 0:32] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x64xf32>
  return %3 : tensor<16x64xf32>
}
}
// CHECK-LABEL: module @rotary_halves {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x16xf32>) -> tensor<16x16xf32> {
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %1 = stablehlo.negate %0 : tensor<16x16xf32>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c, %3, sizes = [1] : (tensor<3xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1xi1>) -> tensor<16x16xi1>
// CHECK-NEXT: %6 = stablehlo.select %5, %1, %0 : tensor<16x16xi1>, tensor<16x16xf32>
// CHECK-NEXT: return %6 : tensor<16x16xf32>
