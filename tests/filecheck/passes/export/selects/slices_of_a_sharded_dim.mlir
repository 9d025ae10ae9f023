// Slices of a dim of 16 on 4 devices: few elements are contributed by the device that holds them, many are exchanged.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

sdy.mesh @m = <["x"=4]>
// `a[0]`: the device that holds the row contributes it, and all others zeros.
func.func @first_row(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<1x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.slice %a [0:1, 0:3] : (tensor<16x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
// CHECK-LABEL: func.func @first_row(%arg0: tensor<4x3xf32>) -> tensor<1x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[CST:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.convert %[[V1]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.dynamic_slice %[[C]], %[[V2]], sizes = [1] : (tensor<2xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [0] : (tensor<1xi1>) -> tensor<1x3xi1>
// CHECK-NEXT: %[[V5:.*]] = stablehlo.select %[[V4]], %[[V0]], %[[CST]] : tensor<1x3xi1>, tensor<1x3xf32>
// CHECK-NEXT: %[[V6:.*]] = "stablehlo.all_reduce"(%[[V5]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3{{\]\]}}> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %[[V7:.*]] = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %[[V7]] : tensor<f32>
// CHECK-NEXT: }) : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: return %[[V6]] : tensor<1x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// `a[:, -1]` of a sharded sequence.
func.func @last_position(%a: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>})
    -> (tensor<2x1x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}]>}) {
  %0 = stablehlo.slice %a [0:2, 15:16, 0:3] : (tensor<2x16x3xf32>) -> tensor<2x1x3xf32>
  return %0 : tensor<2x1x3xf32>
}
// CHECK-LABEL: func.func @last_position(%arg0: tensor<2x4x3xf32>) -> tensor<2x1x3xf32> {
// CHECK-NEXT: %[[CST:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<2x1x3xf32>
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [0:2, 3:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.convert %[[V1]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[true, true, true, false]> : tensor<4xi1>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.dynamic_slice %[[C]], %[[V2]], sizes = [1] : (tensor<4xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [0] : (tensor<1xi1>) -> tensor<2x1x3xi1>
// CHECK-NEXT: %[[V5:.*]] = stablehlo.select %[[V4]], %[[CST]], %[[V0]] : tensor<2x1x3xi1>, tensor<2x1x3xf32>
// CHECK-NEXT: %[[V6:.*]] = "stablehlo.all_reduce"(%[[V5]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3{{\]\]}}> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %[[V7:.*]] = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %[[V7]] : tensor<f32>
// CHECK-NEXT: }) : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
// CHECK-NEXT: return %[[V6]] : tensor<2x1x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// `a[4:6]`, which one device holds.
func.func @two_rows_of_a_shard(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.slice %a [4:6, 0:3] : (tensor<16x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @two_rows_of_a_shard(%arg0: tensor<4x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.reshape %arg0 : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT: %[[CST:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<1x2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.slice %[[V0]] [0:1, 0:2, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.convert %[[V2]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.dynamic_slice %[[C]], %[[V3]], sizes = [1] : (tensor<3xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %[[V5:.*]] = stablehlo.broadcast_in_dim %[[V4]], dims = [0] : (tensor<1xi1>) -> tensor<1x2x3xi1>
// CHECK-NEXT: %[[V6:.*]] = stablehlo.select %[[V5]], %[[CST]], %[[V1]] : tensor<1x2x3xi1>, tensor<1x2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = "stablehlo.all_reduce"(%[[V6]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3{{\]\]}}> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %[[V9:.*]] = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %[[V9]] : tensor<f32>
// CHECK-NEXT: }) : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = stablehlo.reshape %[[V7]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V8]] : tensor<2x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// `a[:8]`: of the second permute there is one sender, whose slice is known.
func.func @first_half(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:8, 0:3] : (tensor<16x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
// CHECK-LABEL: func.func @first_half(%arg0: tensor<4x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.convert %[[V0]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C0:.*]] = stablehlo.constant dense<[2, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.dynamic_slice %[[C0]], %[[V1]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.reshape %[[V2]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.dynamic_slice %arg0, %[[V3]], %[[C]], sizes = [2, 3] : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = "stablehlo.collective_permute"(%[[V4]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2{{\]\]}}> : tensor<2x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = stablehlo.slice %arg0 [2:4, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = "stablehlo.collective_permute"(%[[V6]]) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<{{\[\[}}1, 3{{\]\]}}> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = stablehlo.concatenate %arg0, %[[V5]], %[[V7]], dim = 0 : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: %[[C1:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C2:.*]] = stablehlo.constant dense<[0, 4, 4, 6]> : tensor<4xi64>
// CHECK-NEXT: %[[V9:.*]] = stablehlo.dynamic_slice %[[C2]], %[[V1]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V10:.*]] = stablehlo.reshape %[[V9]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V11:.*]] = stablehlo.dynamic_slice %[[V8]], %[[V10]], %[[C1]], sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V11]] : tensor<2x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// The halves of a gated product are sent by the same permutes.
func.func @gated_halves(%a: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
    -> (tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.slice %a [0:3, 0:8] : (tensor<3x16xf32>) -> tensor<3x8xf32>
  %1 = stablehlo.slice %a [0:3, 8:16] : (tensor<3x16xf32>) -> tensor<3x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}
// CHECK-LABEL: func.func @gated_halves(%arg0: tensor<3x4xf32>) -> tensor<3x2xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.convert %[[V0]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C0:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C1:.*]] = stablehlo.constant dense<[2, 0, 0, 0]> : tensor<4xi64>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.dynamic_slice %[[C1]], %[[V1]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.reshape %[[V2]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.dynamic_slice %arg0, %[[C]], %[[V3]], sizes = [3, 2] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V5:.*]] = "stablehlo.collective_permute"(%[[V4]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 0{{\]\]}}> : tensor<3x2xi64>}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[C2:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C3:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C4:.*]] = stablehlo.constant dense<[0, 2, 2, 0]> : tensor<4xi64>
// CHECK-NEXT: %[[V6:.*]] = stablehlo.dynamic_slice %[[C4]], %[[V1]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V7:.*]] = stablehlo.reshape %[[V6]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V8:.*]] = stablehlo.dynamic_slice %arg0, %[[C2]], %[[V7]], sizes = [3, 2] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V9:.*]] = "stablehlo.collective_permute"(%[[V8]]) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<{{\[\[}}1, 3], [2, 1], [3, 2{{\]\]}}> : tensor<3x2xi64>}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V10:.*]] = stablehlo.concatenate %arg0, %[[V5]], %[[V9]], dim = 1 : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V11:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V12:.*]] = stablehlo.convert %[[V11]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C5:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C6:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C7:.*]] = stablehlo.constant dense<[0, 4, 4, 6]> : tensor<4xi64>
// CHECK-NEXT: %[[V13:.*]] = stablehlo.dynamic_slice %[[C7]], %[[V12]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V14:.*]] = stablehlo.reshape %[[V13]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V15:.*]] = stablehlo.dynamic_slice %[[V10]], %[[C5]], %[[V14]], sizes = [3, 2] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V16:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V17:.*]] = stablehlo.convert %[[V16]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[C8:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C9:.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[C10:.*]] = stablehlo.constant dense<[4, 6, 6, 2]> : tensor<4xi64>
// CHECK-NEXT: %[[V18:.*]] = stablehlo.dynamic_slice %[[C10]], %[[V17]], sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %[[V19:.*]] = stablehlo.reshape %[[V18]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %[[V20:.*]] = stablehlo.dynamic_slice %[[V10]], %[[C8]], %[[V19]], sizes = [3, 2] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V21:.*]] = stablehlo.multiply %[[V15]], %[[V20]] : tensor<3x2xf32>
// CHECK-NEXT: return %[[V21]] : tensor<3x2xf32>
