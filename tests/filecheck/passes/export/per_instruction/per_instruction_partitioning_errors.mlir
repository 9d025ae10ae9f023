// The tensors of an instruction are on one mesh.
// RUN: sdy-opt %s --sdy-per-instruction-partitioning --verify-diagnostics

sdy.mesh @g = <["r"=2]>
sdy.mesh @h = <["s"=2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) -> tensor<4xi32> {
  // expected-error @+1 {{tensors of stablehlo.negate must be on one mesh, got <@g, [{"r"}]>, <@h, [{"s"}]>}}
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@h, [{"s"}]>]>} : tensor<4xi32>
  return %0 : tensor<4xi32>
}
