// Blocks are in the order of the sources if that saves a transpose: here only dims of one element move after it.
// RUN: sdy-opt %s --sdy-convert-global-to-local --sdy-drop-sharding-and-mesh | filecheck %s

sdy.mesh @m = <["a"=4, "b"=2]>
// Attention from a sharded sequence to sharded batch and heads: what arrives is in the order of the sequence.
func.func @sequence_to_batch_and_heads(%x: tensor<2x4x2x16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}, {"b"}, {}, {}]>})
    -> (tensor<2x4x2x16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}, {}, {}, {}, {"a"}]>}) {
  %0 = sdy.all_to_all [{"a"}: 1->4, {"b"}: 2->0] %x out_sharding=<@m, [{"b"}, {}, {}, {}, {"a"}]> : tensor<2x4x2x16x4xf32>
  return %0 : tensor<2x4x2x16x4xf32>
}
// CHECK: func.func @sequence_to_batch_and_heads(%arg0: tensor<2x1x1x16x4xf32>) -> tensor<1x4x2x16x1xf32> {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<2x1x1x16x4xf32>) -> tensor<2x1x1x1x16x4x1xf32>
// CHECK-NEXT: %1 = stablehlo.transpose %0, dims = [5, 0, 1, 2, 3, 4, 6] : (tensor<2x1x1x1x16x4x1xf32>) -> tensor<4x2x1x1x1x16x1xf32>
// CHECK-NEXT: %2 = stablehlo.reshape %1 : (tensor<4x2x1x1x1x16x1xf32>) -> tensor<8x1x1x1x16x1xf32>
// CHECK-NEXT: %3 = "stablehlo.all_to_all"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, split_count = 8 : i64, split_dimension = 0 : i64}> : (tensor<8x1x1x1x16x1xf32>) -> tensor<8x1x1x1x16x1xf32>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<8x1x1x1x16x1xf32>) -> tensor<4x2x1x1x1x16x1xf32>
// CHECK-NEXT: %5 = stablehlo.transpose %4, dims = [2, 0, 3, 1, 4, 5, 6] : (tensor<4x2x1x1x1x16x1xf32>) -> tensor<1x4x1x2x1x16x1xf32>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1x4x1x2x1x16x1xf32>) -> tensor<1x4x2x16x1xf32>
// CHECK-NEXT: return %6 : tensor<1x4x2x16x1xf32>
