// Types are those of one shard; collectives name their devices.
// RUN: sdy-opt %s --sdy-convert-global-to-local | filecheck %s

sdy.mesh @m = <["p"=2, "q"=3], device_ids=[5, 4, 3, 2, 1, 0]>
func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>})
    -> (tensor<4x6xf32>, tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) {
  %0 = sdy.all_gather [{"p"}, {"q"}] %x out_sharding=<@m, [{}, {}]> : tensor<4x6xf32>
  %1 = sdy.all_slice [{"p"}, {"q"}] %0 out_sharding=<@m, [{"p"}, {"q"}]> : tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}
func.func @others(%x: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"q", "p"}, {}]>})
    -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) {
  %0 = sdy.collective_permute %x out_sharding=<@m, [{"p", "q"}, {}]> : tensor<6x6xf32>
  %1 = sdy.all_to_all [{"q"}: 0->1] %0 out_sharding=<@m, [{"p"}, {"q"}]> : tensor<6x6xf32>
  %2 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"p"}, {"q"}]>]>} : tensor<6x6xf32>
  %3 = stablehlo.add %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"p"}, {"q"}]>]>} : tensor<6x6xf32>
  return %3 : tensor<6x6xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["p"=2, "q"=3], device_ids=[5, 4, 3, 2, 1, 0]>
// CHECK-NEXT: func.func @main(%arg0: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) -> (tensor<4x6xf32>, tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}5, 4, 3, 2, 1, 0]]> : tensor<1x6xi64>, use_global_device_ids}> : (tensor<1x2x2xf32>) -> tensor<6x2x2xf32>
// CHECK-NEXT: %2 = stablehlo.reshape %1 : (tensor<6x2x2xf32>) -> tensor<2x3x2x2xf32>
// CHECK-NEXT: %3 = stablehlo.transpose %2, dims = [0, 2, 1, 3] : (tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<2x2x3x2xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %5 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[2, 2, 2, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c, %6, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[4, 2, 0, 4, 2, 0]> : tensor<6xi64>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %c_0, %10, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %12 = stablehlo.reshape %11 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %13 = stablehlo.dynamic_slice %4, %8, %12, sizes = [2, 2] : (tensor<4x6xf32>, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
// CHECK-NEXT: return %4, %13 : tensor<4x6xf32>, tensor<2x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @others(%arg0: tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"q", "p"}, {}]>}) -> (tensor<3x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) {
// CHECK-NEXT: %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<{{\[\[}}0, 0], [1, 2], [2, 4], [3, 1], [4, 3], [5, 5]]> : tensor<6x2xi64>}> : (tensor<1x6xf32>) -> tensor<1x6xf32>
// CHECK-NEXT: %1 = "stablehlo.all_to_all"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<{{\[\[}}5, 4, 3], [2, 1, 0]]> : tensor<2x3xi64>, split_count = 3 : i64, split_dimension = 1 : i64}> : (tensor<1x6xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %2 = stablehlo.iota dim = 0 : tensor<3x2xf32>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[3, 3, 3, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c, %4, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.convert %6 : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
// CHECK-NEXT: %9 = stablehlo.add %2, %8 : tensor<3x2xf32>
// CHECK-NEXT: %10 = stablehlo.add %1, %9 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"p"}, {"q"}]>]>} : tensor<3x2xf32>
// CHECK-NEXT: return %10 : tensor<3x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
