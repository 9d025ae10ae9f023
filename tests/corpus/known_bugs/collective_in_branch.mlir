// All devices of a group take the same branch, and others take another: a sum in one branch does not wait for ever.
// Seen in several partitioners.
// Sends at most 64 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"x"}, {"y"}]>]
      manual_axes={"x", "y"} (%s: tensor<4x2xf32>) {
    %id = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %is_low = stablehlo.compare LT, %id, %two : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %1 = "stablehlo.if"(%is_low) ({
      %2 = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[[0, 1], [2, 3]]>
          : tensor<2x2xi64>, use_global_device_ids,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %r = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %r : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      stablehlo.return %2 : tensor<4x2xf32>
    }, {
      stablehlo.return %s : tensor<4x2xf32>
    }) : (tensor<i1>) -> tensor<4x2xf32>
    sdy.return %1 : tensor<4x2xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
