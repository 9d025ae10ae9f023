// An axis moves between dims that it does not divide.
// Reported: llvm#128803
// Sends at most 60 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.tanh %a : tensor<10x6xf32>
  return %0 : tensor<10x6xf32>
}
