// Reshards and backward dependencies of a compiled program are reported.
// RUN: sdy-opt %s --mpmd-validate-no-reshards --mpmd-validate-no-backward-deps --split-input-file --verify-diagnostics

!t = !mpmd.mesh_tensor<"a", tensor<8xf32>>
!s = !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
func.func public @reshard(%x: !t loc("x")) -> (!s {jax.result_info = "out"})
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>>} {
  // expected-warning @+1 {{@same only reshards values: tensor<8xf32> replicated x to tensor<8xf32> <@m, [{"x"}]> out}}
  %0 = mpmd.fragment_call<mesh="a", origin=[]> @same(%x) : (!t) -> !s
  return %0 : !s
}
func.func @same(%x: tensor<8xf32>) -> tensor<8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  return %x : tensor<8xf32>
}

// -----

!t = !mpmd.mesh_tensor<"m2", tensor<8xf32>>
!u = !mpmd.mesh_tensor<"m1", tensor<8xf32>>
func.func public @backward(%x: !t) -> !u attributes {topology = #mpmd.topology<<"m1" : <["x"=2]>>, <"m2" : <["x"=2]>>>} {
  %0 = mpmd.fragment_call<mesh="m2", origin=["f"]> @f(%x) : (!t) -> !t
  %1 = mpmd.transfer %0 : (!t) -> !u
  // expected-warning @+1 {{@f on mesh m2 makes a value that @f uses on the earlier mesh m1}}
  %2 = mpmd.fragment_call<mesh="m1", origin=["g"]> @f(%1) : (!u) -> !u
  return %2 : !u
}
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
  %0 = stablehlo.abs %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
