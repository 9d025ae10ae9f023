// The gradient of a product with a constraint on every value, as explicit axes of JAX make it: one sum over the batch.
// Reported: jax#29859, jax#28542, jax#31799, jax#33787, jax#39309, jax#31918
// Sends at most 384 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>},
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %2 = stablehlo.add %1, %1 : tensor<8x8xf32>
  %3 = sdy.sharding_constraint %2 <@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %4 = stablehlo.dot_general %3, %x, contracting_dims = [0] x [0]
      : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %5 = sdy.sharding_constraint %4 <@m, [{"y"}, {}]> : tensor<8x16xf32>
  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %7 = sdy.sharding_constraint %6 <@m, [{}, {"y"}]> : tensor<16x8xf32>
  return %7 : tensor<16x8xf32>
}
