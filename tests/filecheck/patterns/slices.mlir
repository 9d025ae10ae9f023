// Slices are local along unsharded dims and by steps that each shard takes alike; others send what moves.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:64, 2:5] : (tensor<64x8xf32>) -> tensor<64x3xf32>
  return %0 : tensor<64x3xf32>
}
}
// CHECK-LABEL: module @of_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x3xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:16, 2:5] : (tensor<16x8xf32>) -> tensor<16x3xf32>
// CHECK-NEXT: return %0 : tensor<16x3xf32>

// -----

module @every_second {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [0:64:2] : (tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
}
// CHECK-LABEL: module @every_second {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:16:2] : (tensor<16xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>

// -----

module @every_second_but_the_first {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [1:64:2] : (tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
}
// CHECK-LABEL: module @every_second_but_the_first {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>

// -----

module @first_half {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [0:32] : (tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
}
// CHECK-LABEL: module @first_half {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[8, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %3, sizes = [8] : (tensor<16xf32>, tensor<i64>) -> tensor<8xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %6 = stablehlo.slice %arg0 [8:16] : (tensor<16xf32>) -> tensor<8xf32>
// CHECK-NEXT{LITERAL}: %7 = "stablehlo.collective_permute"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 3]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %8 = stablehlo.concatenate %arg0, %5, %7, dim = 0 : (tensor<16xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<32xf32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 16, 16, 24]> : tensor<4xi64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %c_0, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %10 = stablehlo.reshape %9 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %8, %10, sizes = [8] : (tensor<32xf32>, tensor<i64>) -> tensor<8xf32>
// CHECK-NEXT: return %11 : tensor<8xf32>

// -----

// An expert would concatenate what arrives around the own elements, and slice that once.
module @middle {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [8:56] : (tensor<64xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
}
// CHECK-LABEL: module @middle {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<12xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 0, 12, 0]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c_0, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %3, sizes = [4] : (tensor<16xf32>, tensor<i64>) -> tensor<4xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %6 = stablehlo.concatenate %arg0, %5, %cst, dim = 0 : (tensor<16xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<28xf32>
// CHECK-NEXT: %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<20xf32>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<[8, 4, 0, 16]> : tensor<4xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c_3, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %6, %8, sizes = [12] : (tensor<28xf32>, tensor<i64>) -> tensor<12xf32>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %10 = stablehlo.dynamic_update_slice %cst_1, %9, %c_5 : (tensor<20xf32>, tensor<12xf32>, tensor<i64>) -> tensor<20xf32>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<[16, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %c_7, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %12 = stablehlo.reshape %11 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %13 = stablehlo.dynamic_slice %6, %12, sizes = [8] : (tensor<28xf32>, tensor<i64>) -> tensor<8xf32>
// CHECK-NEXT: %c_8 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_9 = stablehlo.constant dense<[8, 12, 12, 4]> : tensor<4xi64>
// CHECK-NEXT: %14 = stablehlo.dynamic_slice %c_9, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %15 = stablehlo.reshape %14 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %16 = stablehlo.dynamic_update_slice %10, %13, %15 : (tensor<20xf32>, tensor<8xf32>, tensor<i64>) -> tensor<20xf32>
// CHECK-NEXT: %17 = stablehlo.slice %16 [0:12] : (tensor<20xf32>) -> tensor<12xf32>
// CHECK-NEXT: return %17 : tensor<12xf32>

// -----

module @last_row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<1x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.slice %a [63:64, 0:8] : (tensor<64x8xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
}
// CHECK-LABEL: module @last_row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<-0.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, true, true, false]> : tensor<4xi1>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi1>) -> tensor<1x8xi1>
// CHECK-NEXT: %5 = stablehlo.select %4, %cst, %0 : tensor<1x8xi1>, tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %7 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %7 : tensor<f32>
// CHECK-NEXT: }) : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: return %6 : tensor<1x8xf32>

// -----

// An expert would broadcast the four rows from the second device, which sends a fifth less, and concatenates nothing.
module @rows_of_one_shard {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.slice %a [18:22, 0:8] : (tensor<64x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}
// CHECK-LABEL: module @rows_of_one_shard {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [5:6, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 3]]> : tensor<1x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<14x8xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [4:5, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 2]]> : tensor<1x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<11x8xf32>
// CHECK-NEXT: %4 = stablehlo.slice %arg0 [0:3, 0:8] : (tensor<16x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %5 = stablehlo.slice %arg0 [3:4, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %6 = stablehlo.slice %arg0 [4:16, 0:8] : (tensor<16x8xf32>) -> tensor<12x8xf32>
// CHECK-NEXT: %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<2x8xf32>
// CHECK-NEXT: %7 = stablehlo.slice %arg0 [2:3, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %8 = "stablehlo.collective_permute"(%7) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %9 = stablehlo.concatenate %1, %cst, %3, %cst_0, %4, %5, %6, %cst_1, %8, dim = 0 : (tensor<1x8xf32>, tensor<14x8xf32>, tensor<1x8xf32>, tensor<11x8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<12x8xf32>, tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<46x8xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %10 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %11 = stablehlo.convert %10 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<[45, 30, 15, 0]> : tensor<4xi64>
// CHECK-NEXT: %12 = stablehlo.dynamic_slice %c_3, %11, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %13 = stablehlo.reshape %12 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %14 = stablehlo.dynamic_slice %9, %13, %c_2, sizes = [1, 8] : (tensor<46x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %15 = "stablehlo.all_gather"(%14) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %15 : tensor<4x8xf32>

// -----

// An expert would slice once, at 8 more than the start of the shard.
module @of_a_replicated_value {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<80xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [8:72] : (tensor<80xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_a_replicated_value {
// CHECK-NEXT: func.func @main(%arg0: tensor<80xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [8:72] : (tensor<80xf32>) -> tensor<64xf32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %0, %4, sizes = [16] : (tensor<64xf32>, tensor<i64>) -> tensor<16xf32>
// CHECK-NEXT: return %5 : tensor<16xf32>

// -----

// An expert would look up the number of the device once.
module @gated_halves {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
      -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.slice %a [0:16, 0:32] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %1 = stablehlo.slice %a [0:16, 32:64] : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<16x32xf32>
  return %2 : tensor<16x32xf32>
}
}
// CHECK-LABEL: module @gated_halves {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x16xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[8, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c_1, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %c, %3, sizes = [16, 8] : (tensor<16x16xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<[0, 8, 8, 0]> : tensor<4xi64>
// CHECK-NEXT: %6 = stablehlo.dynamic_slice %c_4, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %7 = stablehlo.reshape %6 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %8 = stablehlo.dynamic_slice %arg0, %c_2, %7, sizes = [16, 8] : (tensor<16x16xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT{LITERAL}: %9 = "stablehlo.collective_permute"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 3], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: %10 = stablehlo.concatenate %arg0, %5, %9, dim = 1 : (tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x32xf32>
// CHECK-NEXT: %11 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %12 = stablehlo.convert %11 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<[0, 16, 16, 24]> : tensor<4xi64>
// CHECK-NEXT: %13 = stablehlo.dynamic_slice %c_7, %12, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %14 = stablehlo.reshape %13 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %15 = stablehlo.dynamic_slice %10, %c_5, %14, sizes = [16, 8] : (tensor<16x32xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: %16 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %17 = stablehlo.convert %16 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_8 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_9 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_10 = stablehlo.constant dense<[16, 24, 24, 8]> : tensor<4xi64>
// CHECK-NEXT: %18 = stablehlo.dynamic_slice %c_10, %17, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %19 = stablehlo.reshape %18 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %20 = stablehlo.dynamic_slice %10, %c_8, %19, sizes = [16, 8] : (tensor<16x32xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: %21 = stablehlo.multiply %15, %20 : tensor<16x8xf32>
// CHECK-NEXT: return %21 : tensor<16x8xf32>
