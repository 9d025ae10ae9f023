// What cannot be padded is said.
// RUN: sdy-opt %s --sdy-pad-for-divisibility --split-input-file --verify-diagnostics

sdy.mesh @g = <["r"=2]>
// expected-error @+2 {{result #0 has a non-divisible sharding}}
// expected-error @+1 {{@boundary cannot be padded}}
func.func @boundary(%a: tensor<3xf32>) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) {
  return %a : tensor<3xf32>
}

// -----

sdy.mesh @g = <["r"=2, "t"=2]>
func.func @two_views_of_one_dim(%a: tensor<6xi32>) -> tensor<6xi32> {
  %0 = sdy.all_slice [{"r", "t"}] %a out_sharding=<@g, [{"r", "t"}]> : tensor<6xi32>
  // expected-error @+1 {{sdy.manual_computation: expected axes that divide a tensor of shape}}
  %1 = sdy.manual_computation(%0) in_shardings=[<@g, [{"r", "t"}]>]
      out_shardings=[<@g, [{"r", "t"}]>] manual_axes={"r"} (%b: tensor<3xi32>) {
    sdy.return %b : tensor<3xi32>
  } : (tensor<6xi32>) -> tensor<6xi32>
  %2 = sdy.all_gather [{"r", "t"}] %1 out_sharding=<@g, [{}]> : tensor<6xi32>
  return %2 : tensor<6xi32>
}
