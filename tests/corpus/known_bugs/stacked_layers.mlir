// A loop takes one layer at a time of stacked weights: each step gathers one layer at the most.
// Reported: xla PR 44794
// Sends at most 672 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%w: tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>},
                %a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %six = stablehlo.constant dense<6> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %h = %a) : tensor<i32>, tensor<4x8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %six : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 8, 8]
        : (tensor<6x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %3 = stablehlo.dot_general %h, %2, contracting_dims = [1] x [0]
        : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.tanh %3 : tensor<4x8xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4 : tensor<i32>, tensor<4x8xf32>
  }
  return %0#1 : tensor<4x8xf32>
}
