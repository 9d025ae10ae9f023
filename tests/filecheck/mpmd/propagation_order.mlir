// The first fragment is visited before its operand has a sharding. When the second gives it one, the edge of the first
// fragment's argument is visited again, in the same sweep.
// RUN: sdy-opt %s --sdy-add-data-flow-edges --sdy-basic-propagate --sdy-sink-data-flow-edges | filecheck %s

!m = !mpmd.mesh_tensor<"m", tensor<4x8xf32>>
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: func.func @main(%arg0: {{.*}} {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y", ?}]>}
func.func @main(%a: !m, %b: !m {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (!m, !m)
    attributes {topology = #mpmd.topology<<"m" : <["x"=2, "y"=2]>>>} {
  %0 = mpmd.transfer %a : (!m) -> !m
  // CHECK: mpmd.fragment<mesh="m", origin=["f"], in_shardings=[<@mesh, [{"x", ?}, {"y", ?}]>], out_shardings=[<@mesh, [{"x", ?}, {"y", ?}]>]> (%0)
  // CHECK-NEXT: stablehlo.abs %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {"y", ?}]>]>}
  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%p: tensor<4x8xf32>) {
    %3 = stablehlo.abs %p : tensor<4x8xf32>
    mpmd.return %3 : tensor<4x8xf32>
  } : (!m) -> !m
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%0, %b) (%p: tensor<4x8xf32>, %q: tensor<4x8xf32>) {
    %3 = stablehlo.add %p, %q : tensor<4x8xf32>
    mpmd.return %3 : tensor<4x8xf32>
  } : (!m, !m) -> !m
  return %1, %2 : !m, !m
}
