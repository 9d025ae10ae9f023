// Pads along a sharded dim send what belongs to another shard afterwards.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<64x6xf32>, tensor<f32>)
      -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @of_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x6xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.pad %arg0, %cst, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %0 : tensor<16x8xf32>

// -----

module @between_elements {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<128xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [1], interior = [1] : (tensor<64xf32>, tensor<f32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
}
// CHECK-LABEL: module @between_elements {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<32xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.pad %arg0, %cst, low = [0], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
// CHECK-NEXT: return %0 : tensor<32xf32>

// -----

// An expert would concatenate what arrives around the own elements, and slice that once.
module @on_both_sides {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [8], high = [8], interior = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @on_both_sides {
// CHECK-NEXT: func.func @main(%arg0: tensor<12xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[8, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c_0, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %3, sizes = [4] : (tensor<12xf32>, tensor<i64>) -> tensor<4xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [3, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %6 = stablehlo.concatenate %arg0, %5, %cst_1, %cst_2, dim = 0 : (tensor<12xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<28xf32>
// CHECK-NEXT: %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<24xf32>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<[16, 12, 0, 4]> : tensor<4xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c_5, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %6, %8, sizes = [12] : (tensor<28xf32>, tensor<i64>) -> tensor<12xf32>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %10 = stablehlo.dynamic_update_slice %cst_3, %9, %c_7 : (tensor<24xf32>, tensor<12xf32>, tensor<i64>) -> tensor<24xf32>
// CHECK-NEXT: %c_8 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_9 = stablehlo.constant dense<[0, 0, 12, 16]> : tensor<4xi64>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %c_9, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %12 = stablehlo.reshape %11 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %13 = stablehlo.dynamic_slice %6, %12, sizes = [12] : (tensor<28xf32>, tensor<i64>) -> tensor<12xf32>
// CHECK-NEXT: %c_10 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_11 = stablehlo.constant dense<[8, 4, 12, 8]> : tensor<4xi64>
// CHECK-NEXT: %14 = stablehlo.dynamic_slice %c_11, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %15 = stablehlo.reshape %14 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %16 = stablehlo.dynamic_update_slice %10, %13, %15 : (tensor<24xf32>, tensor<12xf32>, tensor<i64>) -> tensor<24xf32>
// CHECK-NEXT: %17 = stablehlo.slice %16 [0:16] : (tensor<24xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %17 : tensor<16xf32>

// -----

module @to_twice_the_size {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<128xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [64], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
}
// CHECK-LABEL: module @to_twice_the_size {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<32xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[3, 1]]> : tensor<1x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<32xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %arg0, %0, %1, %cst_0, dim = 0 : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<32xf32>) -> tensor<80xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c_1, %4, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %2, %6, sizes = [32] : (tensor<80xf32>, tensor<i64>) -> tensor<32xf32>
// CHECK-NEXT: return %7 : tensor<32xf32>

// -----

// An expert would concatenate what arrives around the own elements, and slice that once.
module @cropping_both_sides {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [-8], high = [-8], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
}
// CHECK-LABEL: module @cropping_both_sides {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<12xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 0, 12, 0]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c_0, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %3, sizes = [4] : (tensor<16xf32>, tensor<i64>) -> tensor<4xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %6 = stablehlo.concatenate %arg0, %5, %cst_1, dim = 0 : (tensor<16xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<28xf32>
// CHECK-NEXT: %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<20xf32>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<[8, 4, 0, 16]> : tensor<4xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c_4, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %6, %8, sizes = [12] : (tensor<28xf32>, tensor<i64>) -> tensor<12xf32>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %10 = stablehlo.dynamic_update_slice %cst_2, %9, %c_6 : (tensor<20xf32>, tensor<12xf32>, tensor<i64>) -> tensor<20xf32>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_8 = stablehlo.constant dense<[16, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %c_8, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %12 = stablehlo.reshape %11 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %13 = stablehlo.dynamic_slice %6, %12, sizes = [8] : (tensor<28xf32>, tensor<i64>) -> tensor<8xf32>
// CHECK-NEXT: %c_9 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_10 = stablehlo.constant dense<[8, 12, 12, 4]> : tensor<4xi64>
// CHECK-NEXT: %14 = stablehlo.dynamic_slice %c_10, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %15 = stablehlo.reshape %14 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %16 = stablehlo.dynamic_update_slice %10, %13, %15 : (tensor<20xf32>, tensor<8xf32>, tensor<i64>) -> tensor<20xf32>
// CHECK-NEXT: %17 = stablehlo.slice %16 [0:12] : (tensor<20xf32>) -> tensor<12xf32>
// CHECK-NEXT: return %17 : tensor<12xf32>

// -----

// An expert would not pad all of the value, of which each device keeps a quarter.
module @of_a_replicated_value {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [8], high = [8], interior = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_a_replicated_value {
// CHECK-NEXT: func.func @main(%arg0: tensor<48xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.pad %arg0, %cst, low = [8], high = [8], interior = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %0, %4, sizes = [16] : (tensor<64xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT: return %5 : tensor<16xf32>
