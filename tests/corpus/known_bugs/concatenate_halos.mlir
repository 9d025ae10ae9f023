// A halo is concatenated at both ends of a sharded dim, and removed after a stencil.
// Reported: Enzyme-JAX#596
// Sends at most 176 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %last = stablehlo.slice %a [31:32, 0:4] : (tensor<32x4xf32>) -> tensor<1x4xf32>
  %first = stablehlo.slice %a [0:1, 0:4] : (tensor<32x4xf32>) -> tensor<1x4xf32>
  %0 = stablehlo.concatenate %last, %a, %first, dim = 0
      : (tensor<1x4xf32>, tensor<32x4xf32>, tensor<1x4xf32>) -> tensor<34x4xf32>
  %1 = stablehlo.slice %0 [0:32, 0:4] : (tensor<34x4xf32>) -> tensor<32x4xf32>
  %2 = stablehlo.slice %0 [2:34, 0:4] : (tensor<34x4xf32>) -> tensor<32x4xf32>
  %3 = stablehlo.add %1, %2 : tensor<32x4xf32>
  return %3 : tensor<32x4xf32>
}
