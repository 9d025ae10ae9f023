// The dim that is not sharded is transformed first; the other one after its axes have moved to the first one.
// RUN: sdy-opt %s --sdy-split-transforms | filecheck %s

sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xcomplex<f32>> {
  // CHECK: %[[ROWS:.*]] = stablehlo.fft %arg0, type = FFT, length = [4] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
  // CHECK-NEXT: %[[SWAPPED:.*]] = stablehlo.transpose %[[ROWS]], dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<8x4xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  // CHECK-NEXT: %[[COLUMNS:.*]] = stablehlo.fft %[[SWAPPED]], type = FFT, length = [8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
  // CHECK-NEXT: %[[BOTH:.*]] = stablehlo.transpose %[[COLUMNS]], dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<4x8xcomplex<f32>>) -> tensor<8x4xcomplex<f32>>
  // CHECK-NEXT: return %[[BOTH]]
  %0 = stablehlo.fft %a, type = FFT, length = [8, 4]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<8x4xcomplex<f32>>) -> tensor<8x4xcomplex<f32>>
  return %0 : tensor<8x4xcomplex<f32>>
}
