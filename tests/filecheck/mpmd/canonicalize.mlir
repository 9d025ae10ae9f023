// Fragments pass arguments on, transfers and broadcasts join; a reduction keeps all its operands.
// RUN: sdy-opt %s --canonicalize | filecheck %s

#two = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>
!l = !mpmd.mesh_tensor<"left", tensor<4xf32>>
!h = !mpmd.mesh_tensor<"left", tensor<4xf32>, memory_kind="pinned_host">
!r = !mpmd.mesh_tensor<"right", tensor<4xf32>>

// CHECK: module {
// CHECK-NEXT:   func.func @on_meshes(%arg0: !mpmd.mesh_tensor<"left", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"right", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>} {
// CHECK-NEXT:     %0:3 = mpmd.fragment<mesh="left", origin=["f"]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %2 = stablehlo.negate %arg1 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %2, %arg1, %arg1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"left", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>)
// CHECK-NEXT:     %1 = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"left", tensor<4xf32>>) -> !mpmd.mesh_tensor<"right", tensor<4xf32>>
// CHECK-NEXT:     return %0#0, %0#1, %1, %arg0 : !mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"right", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @from_host(%arg0: !mpmd.mesh_tensor<"left", tensor<4xf32>, memory_kind="pinned_host">) -> (!mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"left", tensor<4xf32>, memory_kind="pinned_host">) -> !mpmd.mesh_tensor<"left", tensor<4xf32>>
// CHECK-NEXT:     %1 = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"left", tensor<4xf32>, memory_kind="pinned_host">) -> !mpmd.mesh_tensor<"left", tensor<4xf32>>
// CHECK-NEXT:     return %0, %1 : !mpmd.mesh_tensor<"left", tensor<4xf32>>, !mpmd.mesh_tensor<"left", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @local(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {topology = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.reduce<add> %arg0, %arg1, %arg2 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = mpmd.broadcast %arg0 : tensor<4xf32>
// CHECK-NEXT:     return %0, %1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @on_meshes(%a: !l) -> (!l, !l, !r, !l) attributes {topology = #two} {
  %0:3 = mpmd.fragment<mesh="left", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    %1 = stablehlo.negate %x : tensor<4xf32>
    mpmd.return %1, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!l) -> (!l, !l, !l)
  %2 = mpmd.transfer %0#2 : (!l) -> !h
  %3 = mpmd.transfer %2 : (!h) -> !l
  %4 = mpmd.transfer %3 : (!l) -> !r
  return %0#0, %0#1, %4, %3 : !l, !l, !r, !l
}

// The second transfer changes nothing, but joins the first.
func.func @from_host(%a: !h) -> (!l, !l) attributes {topology = #two} {
  %0 = mpmd.transfer %a : (!h) -> !l
  %1 = mpmd.transfer %0 : (!l) -> !l
  return %0, %1 : !l, !l
}

func.func @local(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {topology = #two} {
  %0 = mpmd.reduce<add> %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpmd.reduce<add> %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = mpmd.broadcast %a : tensor<4xf32>
  %3 = mpmd.broadcast %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
