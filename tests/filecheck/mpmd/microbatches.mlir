// Two microbatches of forward and backward on two meshes, in the order of 1F1B; the last mesh alternates.
// RUN: sdy-opt %s --mpmd-import-pipeline='name-to-mesh-assignment=f0@m0,f1@m1 infer-transfers' --mpmd-optimize-pipeline | filecheck %s

// CHECK: module {
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %arg1: !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, %arg2: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, %arg3: !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>, <"m1" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="m0", origin=["f0"]> (%arg0, %arg2) {call_counter = 0 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     %1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="m1", origin=["f1"]> (%arg1, %1) {call_counter = 0 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.add %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %3 = mpmd.fragment<mesh="m1", origin=["f1"(1)]> (%arg1, %2) {call_counter = 0 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %4 = mpmd.transfer %3 : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     %5 = mpmd.fragment<mesh="m0", origin=["f0"]> (%arg0, %arg3) {call_counter = 1 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     %6 = mpmd.transfer %5 : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %7 = mpmd.fragment<mesh="m1", origin=["f1"]> (%arg1, %6) {call_counter = 1 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.add %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %8 = mpmd.fragment<mesh="m1", origin=["f1"(1)]> (%arg1, %7) {call_counter = 1 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %9 = mpmd.transfer %8 : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     %10 = mpmd.fragment<mesh="m1", origin=[]> (%2, %7) {mpmd.inferred_by = ["infer_mesh_wrap_meshless_ops"]} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.add %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m1", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:     %11 = mpmd.fragment<mesh="m0", origin=["f0"(1)]> (%arg2, %4) {call_counter = 0 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %13 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     %12 = mpmd.fragment<mesh="m0", origin=["f0"(1)]> (%arg3, %9, %11) {call_counter = 1 : ui32} (%arg4: tensor<4x4xf32>, %arg5: tensor<4x4xf32>, %arg6: tensor<4x4xf32>) {
// CHECK-NEXT:       %13 = stablehlo.multiply %arg4, %arg5 : tensor<4x4xf32>
// CHECK-NEXT:       %14 = stablehlo.add %arg6, %13 : tensor<4x4xf32>
// CHECK-NEXT:       mpmd.return %14 : tensor<4x4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>) -> !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>
// CHECK-NEXT:     return %12, %10 : !mpmd.mesh_tensor<"m0", tensor<4x4xf32>>, !mpmd.mesh_tensor<"m1", tensor<4x4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
!t = tensor<4x4xf32>
func.func public @main(%w0: !t, %w1: !t, %x0: !t, %x1: !t) -> (!t, !t)
    attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>, <"m1" : <["x"=2]>>>} {
  %0:2 = mpmd.call @step(%w0, %w1, %x0) {call_counter = 0 : ui32} : (!t, !t, !t) -> (!t, !t)
  %1:2 = mpmd.call @step(%w0, %w1, %x1) {call_counter = 1 : ui32} : (!t, !t, !t) -> (!t, !t)
  %2 = stablehlo.add %0#0, %1#0 : !t
  %3 = stablehlo.add %0#1, %1#1 : !t
  return %2, %3 : !t, !t
}
func.func private @step(%w0: !t, %w1: !t, %x: !t) -> (!t, !t) {
  %h = mpmd.named_computation<"f0"> (%w0, %x) (%w: !t, %a: !t) {
    %0 = stablehlo.multiply %w, %a : !t
    mpmd.return %0 : !t
  } : (!t, !t) -> !t
  %y = mpmd.named_computation<"f1"> (%w1, %h) (%w: !t, %a: !t) {
    %0 = stablehlo.add %w, %a : !t
    mpmd.return %0 : !t
  } : (!t, !t) -> !t
  %b1:2 = mpmd.named_computation<"f1"(1)> (%w1, %y) (%w: !t, %g: !t) {
    %0 = stablehlo.multiply %w, %g : !t
    mpmd.return %0, %g : !t, !t
  } : (!t, !t) -> (!t, !t)
  %b0 = mpmd.named_computation<"f0"(1)> (%x, %b1#0) (%a: !t, %g: !t) {
    %0 = stablehlo.multiply %a, %g : !t
    mpmd.return %0 : !t
  } : (!t, !t) -> !t
  return %b0, %b1#1 : !t, !t
}
