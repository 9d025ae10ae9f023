// Errors of single passes of mesh inference.
// RUN: sdy-opt %s --mpmd-infer-mesh-finalize --split-input-file --verify-diagnostics

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
!a = !mpmd.mesh_tensor<"ma", tensor<4xf32>>
!host = !mpmd.mesh_tensor<"ma", tensor<4xf32>, memory_kind="pinned_host">
// expected-error @+1 {{argument 0 is assigned to different memory kinds: none, pinned_host}}
func.func public @two_memories(%x: tensor<4xf32>) -> (!a, !host) attributes {topology = #two} {
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !a
  %1 = mpmd.assign %x : (tensor<4xf32>) -> !host
  return %0, %1 : !a, !host
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
!a = !mpmd.mesh_tensor<"ma", tensor<4xf32>>
// expected-error @+1 {{output 0 of @no_mesh is not on a mesh, but a tensor<4xf32>}}
func.func public @no_mesh(%x: !a) -> tensor<4xf32> attributes {topology = #two} {
  // expected-error @+1 {{mpmd.unassign is left after mesh inference}}
  %0 = mpmd.unassign %x : (!a) -> tensor<4xf32>
  // expected-error @+1 {{stablehlo.abs is on no mesh after mesh inference}}
  %1 = stablehlo.abs %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
