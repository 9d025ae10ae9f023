// Function calls.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func private @f(%a: tensor<8x4xf32>, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, tensor<8x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = stablehlo.exponential %a : tensor<8x4xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x4xf32>
}
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %b: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}) {
  %0:2 = call @f(%a, %b) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>)
  %1:2 = call @f(%0#1, %b) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>)
  return %1#0, %1#1 : tensor<8xf32>, tensor<8x4xf32>
}
