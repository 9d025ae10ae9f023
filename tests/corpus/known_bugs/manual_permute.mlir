// A permutation inside of a manual computation.
// Seen in several partitioners.
// Sends at most 32 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"x"}, {"y"}]>]
      manual_axes={"x", "y"} (%s: tensor<4x2xf32>) {
    %1 = "stablehlo.collective_permute"(%s) <{source_target_pairs = dense<[[0, 2], [2, 0], [1, 3], [3, 1]]>
        : tensor<4x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
    sdy.return %1 : tensor<4x2xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
