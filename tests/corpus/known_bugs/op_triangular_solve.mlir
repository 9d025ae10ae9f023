// A batch of triangular systems stays sharded by batch.
// Reported: pytorch#147724, pytorch#152249, pytorch#167917, pytorch#124990
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>},
                %b: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>})
    -> (tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>}) {
  %0 = "stablehlo.triangular_solve"(%a, %b) <
      {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>,
      unit_diagonal = true}> : (tensor<8x4x4xf32>, tensor<8x4x2xf32>) -> tensor<8x4x2xf32>
  return %0 : tensor<8x4x2xf32>
}
