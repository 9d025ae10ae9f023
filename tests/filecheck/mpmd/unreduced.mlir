// Unreduced axes of constraints are those of the fragment's results.
// RUN: sdy-opt %s --mpmd-populate-unreduced-out-sharding | filecheck %s

// CHECK: module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"m1" : <["x"=2, "y"=2]>>>} {
// CHECK-NEXT:     %0:2 = mpmd.fragment<mesh="m1", origin=["f"], out_shardings=[<@mesh, [{}], unreduced={"y"}>, <@mesh, [{}]>]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %2 = sdy.sharding_constraint %arg1 <@mesh, [{}], unreduced={"y"}> : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %2, %arg1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>)
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="m1", origin=["g"], out_shardings=[<@mesh, [{"x"}], unreduced={"y"}>]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %2 = sdy.sharding_constraint %arg1 <@mesh, [{}], unreduced={"y"}> : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %2 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4xf32>>
// CHECK-NEXT:     return %0#0, %1 : !mpmd.mesh_tensor<"m1", tensor<4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
sdy.mesh @mesh = <["x"=2, "y"=2]>
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func public @main(%x: !t) -> (!t, !t) attributes {topology = #mpmd.topology<<"m1" : <["x"=2, "y"=2]>>>} {
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%p: tensor<4xf32>) {
    %1 = sdy.sharding_constraint %p <@mesh, [{}], unreduced={"y"}> : tensor<4xf32>
    mpmd.return %1, %p : tensor<4xf32>, tensor<4xf32>
  } : (!t) -> (!t, !t)
  %2 = mpmd.fragment<mesh="m1", origin=["g"], out_shardings=[<@mesh, [{"x"}]>]> (%x) (%p: tensor<4xf32>) {
    %1 = sdy.sharding_constraint %p <@mesh, [{}], unreduced={"y"}> : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %0#0, %2 : !t, !t
}
