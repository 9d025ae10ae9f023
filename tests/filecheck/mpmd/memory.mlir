// The bytes that a fragment must leave free are those of values that are alive and that it does not use.
// RUN: sdy-opt %s --mpmd-mark-fragment-reserved-memory --mpmd-mark-aliasing-and-donation | filecheck %s

// CHECK: module {
// CHECK-NEXT:   func.func public @donated(%arg0: !mpmd.mesh_tensor<"a", tensor<256xf32>> {jax.buffer_donor = true}, %arg1: !mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>> attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="a", origin=["f"]> (%arg0) {arg_attrs = [{jax.buffer_donor = true}], reserved_hbm_bytes = 1024 : i64} (%arg2: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.abs %arg2 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="a", origin=["g"]> (%arg1) {reserved_hbm_bytes = 1024 : i64} (%arg2: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.sine %arg2 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="a", origin=["h"]> (%0, %1) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {jax.buffer_donor = true}], reserved_hbm_bytes = 1024 : i64} (%arg2: tensor<256xf32>, %arg3: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.add %arg2, %arg3 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>, !mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     return %2 : !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func public @kept(%arg0: !mpmd.mesh_tensor<"a", tensor<256xf32>>, %arg1: !mpmd.mesh_tensor<"a", tensor<256xf32>> {mhlo.memory_kind = "pinned_host"}, %arg2: !mpmd.mesh_tensor<"a", tensor<256xf32>> {jax.buffer_donor = true}) -> !mpmd.mesh_tensor<"a", tensor<256xf32>> attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="a", origin=["f"]> (%arg0) {reserved_hbm_bytes = 0 : i64} (%arg3: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.abs %arg3 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="a", origin=["g"]> (%arg1) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}], reserved_hbm_bytes = 2048 : i64} (%arg3: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.sine %arg3 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="a", origin=["h"]> (%0, %1) {arg_attrs = [{tf.aliasing_output = 0 : i32}, {jax.buffer_donor = true}], reserved_hbm_bytes = 1024 : i64} (%arg3: tensor<256xf32>, %arg4: tensor<256xf32>) {
// CHECK-NEXT:       %3 = stablehlo.add %arg3, %arg4 : tensor<256xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<256xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<256xf32>>, !mpmd.mesh_tensor<"a", tensor<256xf32>>) -> !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:     return %2 : !mpmd.mesh_tensor<"a", tensor<256xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
!t = !mpmd.mesh_tensor<"a", tensor<256xf32>>
func.func public @donated(%x: !t {jax.buffer_donor = true}, %y: !t) -> !t attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x) (%p: tensor<256xf32>) {
    %9 = stablehlo.abs %p : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t) -> !t
  %1 = mpmd.fragment<mesh="a", origin=["g"]> (%y) (%p: tensor<256xf32>) {
    %9 = stablehlo.sine %p : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t) -> !t
  %2 = mpmd.fragment<mesh="a", origin=["h"]> (%0, %1) (%p: tensor<256xf32>, %q: tensor<256xf32>) {
    %9 = stablehlo.add %p, %q : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t, !t) -> !t
  return %2 : !t
}

func.func public @kept(%x: !t, %y: !t {mhlo.memory_kind = "pinned_host"}, %unused: !t {jax.buffer_donor = true}) -> !t
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x) (%p: tensor<256xf32>) {
    %9 = stablehlo.abs %p : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t) -> !t
  %1 = mpmd.fragment<mesh="a", origin=["g"]> (%y) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}]} (%p: tensor<256xf32>) {
    %9 = stablehlo.sine %p : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t) -> !t
  %2 = mpmd.fragment<mesh="a", origin=["h"]> (%0, %1) (%p: tensor<256xf32>, %q: tensor<256xf32>) {
    %9 = stablehlo.add %p, %q : tensor<256xf32>
    mpmd.return %9 : tensor<256xf32>
  } : (!t, !t) -> !t
  return %2 : !t
}
