// A NaN in one shard is the maximum of all.
// Seen in several partitioners.
// Sends at most 6 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<16xf32>
  %number = stablehlo.iota dim = 0 : tensor<16xi32>
  %fifth = stablehlo.constant dense<5> : tensor<16xi32>
  %is_fifth = stablehlo.compare EQ, %number, %fifth : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %nan = stablehlo.divide %zero, %zero : tensor<16xf32>
  %0 = stablehlo.select %is_fifth, %nan, %a : tensor<16xi1>, tensor<16xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [0]
      : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
