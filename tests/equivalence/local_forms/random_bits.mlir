// Random bits.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
  return %0, %1 : tensor<2xui64>, tensor<8x4xui32>
}
