// Of equal maxima on several devices, the first index is returned.
// Seen in several partitioners.
// Sends at most 24 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<i32> {
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %ties = stablehlo.clamp %zero, %a, %zero : (tensor<i32>, tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
  %number = stablehlo.iota dim = 0 : tensor<16xi32>
  %0:2 = stablehlo.reduce(%ties init: %low), (%number init: %zero) across dimensions = [0]
      : (tensor<16xi32>, tensor<16xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    reducer(%p: tensor<i32>, %q: tensor<i32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %gt = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %eq = stablehlo.compare EQ, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %lt = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %first = stablehlo.and %eq, %lt : tensor<i1>
      %keep = stablehlo.or %gt, %first : tensor<i1>
      %v = stablehlo.select %keep, %p, %q : tensor<i1>, tensor<i32>
      %k = stablehlo.select %keep, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<i32>, tensor<i32>
    }
  return %0#1 : tensor<i32>
}
