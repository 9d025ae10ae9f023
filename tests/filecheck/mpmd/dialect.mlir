// Every op, type and attribute of the dialect is printed as it is read.
// RUN: sdy-opt %s | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt | filecheck %s

#two = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>
!l = !mpmd.mesh_tensor<"left", tensor<4x8xf32>>
!r = !mpmd.mesh_tensor<"right", tensor<4x8xf32>, sharding=<@m, [{"x"}, {?}]>, memory_kind="pinned_host">

// CHECK: module attributes {test.kind = #mpmd.reduction<max>, test.mesh = #mpmd<mesh_with_origins"left"["a", "b"]>, test.meshes = #mpmd.meshes_with_origins<"right", "left"["a"]>, test.named = #mpmd.named_mesh<"left" : <["x"=2]>>, test.origin = #mpmd<origin"why">, test.user = #mpmd.user_origin<"f"(2)>} {
// CHECK-NEXT:   sdy.mesh @m = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: !mpmd.mesh_tensor<"left", tensor<4x8xf32>>, %arg1: tensor<4x8xf32>) -> (!mpmd.mesh_tensor<"right", tensor<4x8xf32>, sharding=<@m, [{"x"}, {?}]>, memory_kind="pinned_host">, tensor<4x8xf32>) attributes {topology = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="left", origin=["f", "g"(1)], stage=2, in_shardings=[<@m, [{}, {"x"}]>], out_shardings=[<@m, [{}, {}]>]> (%arg0) {call_counter = 3 : ui32} (%arg2: tensor<4x8xf32>) {
// CHECK-NEXT:       mpmd.return %arg2 : tensor<4x8xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"left", tensor<4x8xf32>>) -> !mpmd.mesh_tensor<"left", tensor<4x8xf32>>
// CHECK-NEXT:     %1 = mpmd.transfer {note = "kept"} %0 : (!mpmd.mesh_tensor<"left", tensor<4x8xf32>>) -> !mpmd.mesh_tensor<"right", tensor<4x8xf32>, sharding=<@m, [{"x"}, {?}]>, memory_kind="pinned_host">
// CHECK-NEXT:     %2 = mpmd.assign {origin = "f"} %arg1 : (tensor<4x8xf32>) -> !mpmd.mesh_tensor<"left", tensor<4x8xf32>>
// CHECK-NEXT:     %3 = mpmd.unassign %2 : (!mpmd.mesh_tensor<"left", tensor<4x8xf32>>) -> tensor<4x8xf32>
// CHECK-NEXT:     %4 = mpmd.named_computation<"f"(1)> (%3, %arg1) (%arg2: tensor<4x8xf32>, %arg3: tensor<4x8xf32>) {
// CHECK-NEXT:       %10 = stablehlo.add %arg2, %arg3 : tensor<4x8xf32>
// CHECK-NEXT:       mpmd.return %10 : tensor<4x8xf32>
// CHECK-NEXT:     } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     %5 = mpmd.named_tensor %4 name="cut" : tensor<4x8xf32>
// CHECK-NEXT:     %6 = mpmd.broadcast %5 : tensor<4x8xf32>
// CHECK-NEXT:     %7 = mpmd.reduce<add> %6, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     %8 = mpmd.for (%7) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%arg2: tensor<4x8xf32>, %index: tensor<ui32>) {
// CHECK-NEXT:       %10 = mpmd.call @step(%arg2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:       mpmd.return %10 : tensor<4x8xf32>
// CHECK-NEXT:     } : tensor<4x8xf32>
// CHECK-NEXT:     %9 = mpmd.fragment_call<mesh="left", origin=[]> @compiled(%0) : (!mpmd.mesh_tensor<"left", tensor<4x8xf32>>) -> !mpmd.mesh_tensor<"left", tensor<4x8xf32>>
// CHECK-NEXT:     return %1, %8 : !mpmd.mesh_tensor<"right", tensor<4x8xf32>, sharding=<@m, [{"x"}, {?}]>, memory_kind="pinned_host">, tensor<4x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @step(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {topology = #mpmd.topology<<"left" : <["x"=2]>>, <"right" : <["x"=2]>>>} {
// CHECK-NEXT:     return %arg0 : tensor<4x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @compiled(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
// CHECK-NEXT:     return %arg0 : tensor<4x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
module attributes {
    test.named = #mpmd.named_mesh<"left" : <["x"=2]>>, test.user = #mpmd.user_origin<"f"(2)>,
    test.origin = #mpmd<origin"why">, test.mesh = #mpmd<mesh_with_origins"left"["a", "b"]>,
    test.meshes = #mpmd.meshes_with_origins<"right", "left"["a"]>, test.kind = #mpmd.reduction<max>} {
  sdy.mesh @m = <["x"=2]>

  func.func @main(%a: !l, %b: tensor<4x8xf32>) -> (!r, tensor<4x8xf32>) attributes {topology = #two} {
    %0 = mpmd.fragment<mesh="left", origin=["f", "g"(1)], stage=2, in_shardings=[<@m, [{}, {"x"}]>],
        out_shardings=[<@m, [{}, {}]>]> (%a) {call_counter = 3 : ui32} (%x: tensor<4x8xf32>) {
      mpmd.return %x : tensor<4x8xf32>
    } : (!l) -> !l
    %1 = mpmd.transfer {note = "kept"} %0 : (!l) -> !r
    %2 = mpmd.assign {origin = "f"} %b : (tensor<4x8xf32>) -> !l
    %3 = mpmd.unassign %2 : (!l) -> tensor<4x8xf32>
    %4 = mpmd.named_computation<"f"(1)> (%3, %b) (%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
      %10 = stablehlo.add %x, %y : tensor<4x8xf32>
      mpmd.return %10 : tensor<4x8xf32>
    } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = mpmd.named_tensor %4 name="cut" : tensor<4x8xf32>
    %6 = mpmd.broadcast %5 : tensor<4x8xf32>
    %7 = mpmd.reduce<add> %6, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %8 = mpmd.for (%7) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%x: tensor<4x8xf32>, %i: tensor<ui32>) {
      %10 = mpmd.call @step(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      mpmd.return %10 : tensor<4x8xf32>
    } : tensor<4x8xf32>
    %9 = mpmd.fragment_call<mesh="left", origin=[]> @compiled(%0) : (!l) -> !l
    return %1, %8 : !r, tensor<4x8xf32>
  }
  func.func private @step(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {topology = #two} {
    return %a : tensor<4x8xf32>
  }
  func.func @compiled(%a: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    return %a : tensor<4x8xf32>
  }
}
