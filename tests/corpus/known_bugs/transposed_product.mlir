// A product of transposed operands needs no gather.
// Reported: xla#4062
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
                %b: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>})
    -> (tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<16x12xf32>) -> tensor<12x16xf32>
  return %3 : tensor<12x16xf32>
}
