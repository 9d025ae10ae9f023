// Reshards between meshes and parts of axes are reported; transfers from host to host are not supported.
// RUN: sdy-opt %s --mpmd-enforce-user-shardings --mpmd-extract-reshards-from-inter-mesh-transfers --split-input-file --verify-diagnostics

sdy.mesh @m = <["x"=2]>
!a = !mpmd.mesh_tensor<"a", tensor<8xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<8xf32>>
func.func public @resharding(%x: !a {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> !b
    attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>} {
  // expected-warning @+1 {{a transfer between meshes changes the sharding, which may be slow}}
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} %x : (!a) -> !b
  return %0 : !b
}

// -----

!a = !mpmd.mesh_tensor<"a", tensor<8xf32>, memory_kind="pinned_host">
!b = !mpmd.mesh_tensor<"b", tensor<8xf32>, memory_kind="pinned_host">
func.func public @on_host(%x: !a) -> !b attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>} {
  // expected-error @+1 {{a transfer from host to host is not supported where shardings are propagated}}
  %0 = mpmd.transfer %x : (!a) -> !b
  return %0 : !b
}

// -----

sdy.mesh @m = <["x"=4]>
!a = !mpmd.mesh_tensor<"a", tensor<8xf32>>
// expected-warning @+1 {{sub-axes at argument 0 are not supported: <@m, [{"x":(1)2}]> becomes <@m, [{}]>}}
func.func public @sub_axis(%x: !a {sdy.sharding = #sdy.sharding<@m, [{"x":(1)2}]>})
    attributes {topology = #mpmd.topology<<"a" : <["x"=4]>>>} {
  return
}
