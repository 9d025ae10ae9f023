// A contracting dim that the devices do not divide stays sharded.
// Reported: Reactant#1109
// Sends at most 256 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x10xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
                %b: tensor<10x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x10xf32>, tensor<10x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
