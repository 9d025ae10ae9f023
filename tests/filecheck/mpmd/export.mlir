// Equal fragments become one function, which says what it may overwrite and what memory it must leave free.
// RUN: sdy-opt %s --mpmd-export-pipeline=verbose-logging | filecheck %s

// CHECK: module @jit_step {
// CHECK-NEXT:   sdy.mesh @m = <["x"=2]>
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>> {jax.buffer_donor = true}, %arg1: !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> (!mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>> {mhlo.layout_mode = "{0}"}, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment_call<mesh="a", origin=["block_0"]> @p0_block_0_call0.step(%arg0, %arg1) : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:     %1 = mpmd.fragment_call<mesh="a", origin=["block_1"]> @p1_block_1_call1.step(%0, %arg1) : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:     %2 = mpmd.transfer %1 : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:     %3 = mpmd.fragment_call<mesh="b", origin=["head"]> @p2_head.step(%2) : (!mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:     %4 = mpmd.fragment_call<mesh="a", origin=[]> @p3_inferred.step(%arg1) : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:     return %3, %4 : !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @p0_block_0_call0.step(%arg0: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 0 : i64} {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @p1_block_1_call1.step(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 0 : i64} {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @p2_head.step(%arg0: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {mhlo.layout_mode = "{0}", sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 0 : i64} {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @p3_inferred.step(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) attributes {mesh_shape = #sdy.mesh<["x"=2]>, reserved_hbm_bytes = 0 : i64} {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
module @jit_step {
  sdy.mesh @m = <["x"=2]>
  func.func public @main(%x: !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>> {jax.buffer_donor = true},
                         %w: !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>)
      -> (!mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>> {mhlo.layout_mode = "{0}"},
          !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>)
      attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"b" : <["x"=2]>>>} {
    %0 = mpmd.fragment<mesh="a", origin=["block_0"]> (%x, %w) {call_counter = 0 : ui32} (%p: tensor<8xf32>, %q: tensor<8xf32>) {
      %10 = stablehlo.add %p, %q : tensor<8xf32>
      mpmd.return %10 : tensor<8xf32>
    } : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) ->
        !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
    %1 = mpmd.fragment<mesh="a", origin=["block_1"]> (%0, %w) {call_counter = 1 : ui32} (%p: tensor<8xf32>, %q: tensor<8xf32>) {
      %10 = stablehlo.add %p, %q : tensor<8xf32>
      mpmd.return %10 : tensor<8xf32>
    } : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) ->
        !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
    %2 = mpmd.transfer %1 : (!mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>) ->
        !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>
    %3 = mpmd.fragment<mesh="b", origin=["head"]> (%2) (%p: tensor<8xf32>) {
      %10 = stablehlo.negate %p : tensor<8xf32>
      mpmd.return %10 : tensor<8xf32>
    } : (!mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>) -> !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>
    return %3, %w : !mpmd.mesh_tensor<"b", tensor<8xf32>, sharding=<@m, [{"x"}]>>, !mpmd.mesh_tensor<"a", tensor<8xf32>, sharding=<@m, [{"x"}]>>
  }
}
