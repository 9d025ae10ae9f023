// Shards without updates do not turn -0.0 into 0.0.
// Seen in several partitioners.
// Sends at most 96 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%u: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %0 = stablehlo.constant dense<-0.0> : tensor<16xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<16xf32>
  %one = stablehlo.constant dense<1.0> : tensor<16xf32>
  %2 = stablehlo.divide %one, %1 : tensor<16xf32>
  return %2 : tensor<16xf32>
}
