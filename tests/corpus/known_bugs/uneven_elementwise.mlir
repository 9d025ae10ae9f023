// A dim that the devices do not divide stays sharded.
// Reported: Reactant#820, Reactant#1109
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<10x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<10x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<10x4xf32>
  %1 = stablehlo.add %0, %a : tensor<10x4xf32>
  return %1 : tensor<10x4xf32>
}
