// A forward fragment and its backward one merge if nothing of their mesh is between them, or are computed again.
// RUN: sdy-opt %s --mpmd-merge-forward-with-backward | filecheck %s
// RUN: sdy-opt %s --mpmd-remat-fragment='merge-remat-fragments' | filecheck %s --check-prefix=REMAT

// CHECK: module {
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"p", tensor<4xf32>>, %arg1: !mpmd.mesh_tensor<"q", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"p" : <["x"=2]>>, <"q" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="q", origin=["g"]> (%arg1) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.sine %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"q", tensor<4xf32>>) -> !mpmd.mesh_tensor<"q", tensor<4xf32>>
// CHECK-NEXT:     %1:2 = mpmd.fragment<mesh="p", origin=["f", "f"(1)]> (%arg0) {call_counter = 0 : ui32} (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.abs %arg2 : tensor<4xf32>
// CHECK-NEXT:       %4 = stablehlo.add %3, %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3, %4 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"p", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>)
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="p", origin=["f"(1)]> (%1#0) {call_counter = 0 : ui32} (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.cosine %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"p", tensor<4xf32>>) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
// CHECK-NEXT:     return %1#1, %0, %2 : !mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// REMAT: module {
// REMAT-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"p", tensor<4xf32>>, %arg1: !mpmd.mesh_tensor<"q", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"p" : <["x"=2]>>, <"q" : <["x"=2]>>>} {
// REMAT-NEXT:     %0 = mpmd.fragment<mesh="p", origin=["f"]> (%arg0) {call_counter = 0 : ui32} (%arg2: tensor<4xf32>) {
// REMAT-NEXT:       %4 = stablehlo.abs %arg2 : tensor<4xf32>
// REMAT-NEXT:       mpmd.return %4 : tensor<4xf32>
// REMAT-NEXT:     } : (!mpmd.mesh_tensor<"p", tensor<4xf32>>) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
// REMAT-NEXT:     %1 = mpmd.fragment<mesh="q", origin=["g"]> (%arg1) (%arg2: tensor<4xf32>) {
// REMAT-NEXT:       %4 = stablehlo.sine %arg2 : tensor<4xf32>
// REMAT-NEXT:       mpmd.return %4 : tensor<4xf32>
// REMAT-NEXT:     } : (!mpmd.mesh_tensor<"q", tensor<4xf32>>) -> !mpmd.mesh_tensor<"q", tensor<4xf32>>
// REMAT-NEXT:     %2 = mpmd.fragment<mesh="p", origin=["f"(1)]> (%0, %arg0) {call_counter = 0 : ui32} (%arg2: tensor<4xf32>, %arg3: tensor<4xf32>) {
// REMAT-NEXT:       %4 = stablehlo.add %arg2, %arg3 : tensor<4xf32>
// REMAT-NEXT:       mpmd.return %4 : tensor<4xf32>
// REMAT-NEXT:     } : (!mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
// REMAT-NEXT:     %3 = mpmd.fragment<mesh="p", origin=["f", "f"(1)]> (%arg0) {call_counter = 0 : ui32, remat} (%arg2: tensor<4xf32>) {
// REMAT-NEXT:       %4 = stablehlo.abs %arg2 : tensor<4xf32>
// REMAT-NEXT:       %5 = stablehlo.cosine %4 : tensor<4xf32>
// REMAT-NEXT:       mpmd.return %5 : tensor<4xf32>
// REMAT-NEXT:     } : (!mpmd.mesh_tensor<"p", tensor<4xf32>>) -> !mpmd.mesh_tensor<"p", tensor<4xf32>>
// REMAT-NEXT:     return %2, %1, %3 : !mpmd.mesh_tensor<"p", tensor<4xf32>>, !mpmd.mesh_tensor<"q", tensor<4xf32>>, !mpmd.mesh_tensor<"p", tensor<4xf32>>
// REMAT-NEXT:   }
// REMAT-NEXT: }
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
!q = !mpmd.mesh_tensor<"q", tensor<4xf32>>
func.func public @main(%x: !p, %y: !q) -> (!p, !q, !p) attributes {topology = #mpmd.topology<<"p" : <["x"=2]>>, <"q" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="p", origin=["f"]> (%x) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    %9 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!p) -> !p
  %1 = mpmd.fragment<mesh="q", origin=["g"]> (%y) (%a: tensor<4xf32>) {
    %9 = stablehlo.sine %a : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!q) -> !q
  %2 = mpmd.fragment<mesh="p", origin=["f"(1)]> (%0, %x) {call_counter = 0 : ui32} (%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %9 = stablehlo.add %a, %b : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!p, !p) -> !p
  %3 = mpmd.fragment<mesh="p", origin=["f"(1)]> (%0) {call_counter = 0 : ui32} (%a: tensor<4xf32>) {
    %9 = stablehlo.cosine %a : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!p) -> !p
  return %2, %1, %3 : !p, !q, !p
}
