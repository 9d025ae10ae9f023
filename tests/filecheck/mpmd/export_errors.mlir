// What a compiled program should not contain is reported.
// RUN: sdy-opt %s --mpmd-mark-offloaded-input-output --mpmd-mark-input-output-with-layouts --mpmd-mark-fragment-reserved-memory --mpmd-validate-no-param-transfers --mpmd-validate-no-inferred-fragments --split-input-file --verify-diagnostics

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
// expected-error @+1 {{argument 0 is declared in memory pinned_host, but used in device (the default)}}
func.func public @memory(%x: !t {mhlo.memory_kind = "pinned_host"}) -> !t
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  // expected-error @+1 {{result 0 is declared in memory device (the default), but its value is in pinned_host}}
  return %x : !t
}

// -----

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
// expected-error @+1 {{argument 0 has the layout {0}, but is returned as result 0 with the layout {1}}}
func.func public @layout(%x: !t {mhlo.layout_mode = "{0}"}) -> (!t {mhlo.layout_mode = "{1}"})
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  return %x : !t
}

// -----

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
!cpu = !mpmd.mesh_tensor<"a/cpu", tensor<8xf32>>
// expected-warning @+1 {{argument 0 is transferred to a CPU, so its layout {0} becomes the default one}}
func.func public @to_cpu(%x: !t {mhlo.layout_mode = "{0}"}) -> !cpu
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"a/cpu" : <["x"=2]>>>} {
  %0 = mpmd.transfer %x : (!t) -> !cpu
  return %0 : !cpu
}

// -----

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
func.func public @other_op(%x: !t) -> !t attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  // expected-error @+1 {{expected fragments, transfers and a return, got mpmd.unassign}}
  %0 = mpmd.unassign %x : (!t) -> tensor<8xf32>
  return %x : !t
}

// -----

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
!u = !mpmd.mesh_tensor<"b", tensor<8xf32>>
func.func public @parameter(%x: !t loc("params['transformer/layer_1']['w']")) -> !u
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>} {
  // expected-warning @+1 {{a parameter is transferred from mesh a to b: params['transformer/layer_1']['w'] contains params['transformer}}
  %0 = mpmd.transfer %x : (!t) -> !u
  return %0 : !u
}

// -----

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
func.func public @inferred(%x: !t) -> (!t, !t, !t) attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  // expected-error @+1 {{an inferred fragment does not say which pass made it}}
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: tensor<8xf32>) {
    mpmd.return %p : tensor<8xf32>
  } : (!t) -> !t
  // expected-error @+1 {{an inferred fragment, made by mine, was not merged with a computation}}
  %1 = mpmd.fragment<mesh="a", origin=[]> (%x) {mpmd.inferred_by = ["mine"]} (%p: tensor<8xf32>) {
    mpmd.return %p : tensor<8xf32>
  } : (!t) -> !t
  // expected-warning @+1 {{an inferred fragment, made by mine, uniquify, was not merged with a computation}}
  %2 = mpmd.fragment<mesh="a", origin=[]> (%x) {mpmd.inferred_by = ["mine", "uniquify"]} (%p: tensor<8xf32>) {
    mpmd.return %p : tensor<8xf32>
  } : (!t) -> !t
  return %0, %1, %2 : !t, !t, !t
}
