// Dims are merged, and a constraint keeps the sharded first dim of the merged ones, as explicit axes of JAX do.
// Reported: jax#29859, jax#28542, jax#31799, jax#33787, jax#39309, jax#31918
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}, {}]>})
    -> (tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<8x4x6xf32>) -> tensor<8x24xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"y"}, {"x"}]> : tensor<8x24xf32>
  return %1 : tensor<8x24xf32>
}
