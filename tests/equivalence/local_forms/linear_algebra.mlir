// Cholesky, triangular solve and matrix products.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>},
    %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<4x3x3xf32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %f = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %g = stablehlo.compare EQ, %e, %f : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %h = stablehlo.constant dense<9.0> : tensor<4x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %d = stablehlo.select %g, %h, %z : tensor<4x4xi1>, tensor<4x4xf32>
  %p = stablehlo.dot_general %b, %t, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = stablehlo.add %p, %d : tensor<4x4xf32>
  %c = stablehlo.cholesky %q, lower = true : tensor<4x4xf32>
  %s = "stablehlo.triangular_solve"(%c, %b) <{left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = stablehlo.reverse %a, dims = [0, 2] : tensor<4x3x3xf32>
  return %r, %s : tensor<4x3x3xf32>, tensor<4x4xf32>
}
