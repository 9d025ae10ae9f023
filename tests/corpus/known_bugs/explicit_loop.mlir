// A loop takes the rows of a tensor one after another, with a constraint on every value, as explicit axes of JAX do.
// Reported: jax#29859, jax#28542, jax#31799, jax#33787, jax#39309, jax#31918
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<6x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %rows = stablehlo.constant dense<6> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<16xf32>
  %s = sdy.sharding_constraint %start <@m, [{"x"}]> : tensor<16xf32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %s) : tensor<i32>, tensor<16xf32>
  cond {
    %n = sdy.sharding_constraint %i <@m, []> : tensor<i32>
    %c = stablehlo.compare LT, %n, %rows, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %0 = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 16]
        : (tensor<6x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %1 = sdy.sharding_constraint %0 <@m, [{}, {"x"}]> : tensor<1x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x16xf32>) -> tensor<16xf32>
    %3 = sdy.sharding_constraint %2 <@m, [{"x"}]> : tensor<16xf32>
    %4 = stablehlo.add %sum, %3 : tensor<16xf32>
    %5 = sdy.sharding_constraint %4 <@m, [{"x"}]> : tensor<16xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    %7 = sdy.sharding_constraint %6 <@m, []> : tensor<i32>
    stablehlo.return %7, %5 : tensor<i32>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
