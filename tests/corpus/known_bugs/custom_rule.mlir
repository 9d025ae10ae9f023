// A custom call with a rule of its own propagates along the dims that the rule ties.
// Reported: shardy PR 885
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<16x4xf32> {
  %0 = stablehlo.custom_call @scaled(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=16, j=4}, custom>}
      : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %1 = stablehlo.abs %0 : tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
