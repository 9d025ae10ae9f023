// What cannot be padded is said.
// RUN: sdy-opt %s --sdy-pad-for-divisibility --split-input-file --verify-diagnostics

sdy.mesh @g = <["r"=2]>
// expected-error @+2 {{result #0 has a non-divisible sharding}}
// expected-error @+1 {{@boundary cannot be padded}}
func.func @boundary(%a: tensor<3xf32>) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) {
  return %a : tensor<3xf32>
}

// -----

sdy.mesh @g = <["r"=2]>
func.func @no_identity(%a: tensor<3xf32>) -> tensor<f32> {
  %0 = sdy.all_slice [{"r"}] %a out_sharding=<@g, [{"r"}]> : tensor<3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @+1 {{stablehlo.reduce mixes elements along a dim}}
  %1 = stablehlo.reduce(%0 init: %c) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    reducer(%p: tensor<f32>, %q: tensor<f32>) {
      %s = stablehlo.subtract %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }
  return %1 : tensor<f32>
}
