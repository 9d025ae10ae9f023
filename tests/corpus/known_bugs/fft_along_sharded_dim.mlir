// A Fourier transform along a sharded dim gives the transform of the whole.
// Reported: jax#16909
// Sends at most 384 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
    -> (tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.fft %a, type = FFT, length = [16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>
  return %0 : tensor<8x16xcomplex<f32>>
}
