// A product is constrained to be unreduced before it is resharded, as explicit axes of JAX do: one reduce-scatter.
// Reported: jax#29859, jax#28542, jax#31799, jax#33787, jax#39309, jax#31918
// Sends at most 32 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>},
    %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}, {}], unreduced={"y"}> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@m, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
