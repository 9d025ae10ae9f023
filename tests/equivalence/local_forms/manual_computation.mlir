// A manual computation.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = sdy.manual_computation(%a, %a) in_shardings=[<@m, [{"x"}, {}]>,
      <@m, [{"x"}, {?}]>] out_shardings=[<@m, [{"x"}, {}]>, <@m, [{"x"}, {?}]>] manual_axes={"x"} (%b: tensor<4x4xf32>,
      %c: tensor<4x4xf32>) {
    %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %1, %c : tensor<4x4xf32>, tensor<4x4xf32>
  } : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>
}
