// Pooling and cumulative windows.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %z: tensor<f32>)
    -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %1 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 8, 1>, padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = "stablehlo.select_and_scatter"(%a, %0, %z) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
