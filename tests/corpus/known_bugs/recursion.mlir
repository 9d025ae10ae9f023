// A function that calls itself is an error with a message, not an endless loop.
// Seen in several partitioners.
// Fails with SDY-T115.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<16xf32> {
  %0 = func.call @main(%a) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
