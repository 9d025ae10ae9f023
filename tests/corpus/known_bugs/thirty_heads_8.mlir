// 30 attention heads on 8 devices: split from the features and merged again.
// Reported: tt-xla#3643, tt-mlir#8492, tt-mlir#8787
// Sends at most 3840 bytes.
sdy.mesh @m = <["x"=8]>
func.func @main(%a: tensor<4x960xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
    -> (tensor<4x960xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<4x960xf32>) -> tensor<4x30x32xf32>
  %1 = stablehlo.tanh %0 : tensor<4x30x32xf32>
  %2 = stablehlo.reshape %1 : (tensor<4x30x32xf32>) -> tensor<4x960xf32>
  return %2 : tensor<4x960xf32>
}
