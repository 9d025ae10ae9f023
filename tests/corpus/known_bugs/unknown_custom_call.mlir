// A custom call without a rule runs unsharded; the ops around it stay sharded.
// Reported: tt-mlir#9136, tt-xla#1765, tt-mlir PR 8986
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<16x4xf32>
  %1 = stablehlo.custom_call @unknown(%0) : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %2 = stablehlo.abs %1 : tensor<16x4xf32>
  return %2 : tensor<16x4xf32>
}
