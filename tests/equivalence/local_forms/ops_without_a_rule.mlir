// Ops without a sharding rule in Shardy.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}, {}]>}, tensor<8x4xf32>, tensor<8x4xf32>,
    tensor<i32>, tensor<8x2xf32>, tensor<8x2xi32>) {
  %0 = stablehlo.broadcast %a, sizes = [2] : (tensor<8x4xf32>) -> tensor<2x8x4xf32>
  %1 = "stablehlo.map"(%a, %a) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.multiply %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = chlo.erf %a : tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<8x4xf32>) -> tensor<i32>
  %4, %5 = chlo.top_k(%a, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
  return %0, %1, %2, %3, %4, %5 : tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>, tensor<8x2xf32>, tensor<8x2xi32>
}
