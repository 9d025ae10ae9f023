// RUN: sdy-opt %s -canonicalize | filecheck %s
// RUN: sdy-opt %s -pass-pipeline='builtin.module(canonicalize{enable-patterns=sdy-collective})' | filecheck %s

sdy.mesh @m = <["a"=2, "b"=4, "c"=2]>
sdy.mesh @n = <["a"=2, "b"=4, "c"=2]>
sdy.mesh @reversed = <["a"=2, "b"=4, "c"=2], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: func.func @without_axes
func.func @without_axes(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = sdy.all_gather [{}, {}] %arg0 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{}, {}] %0 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %2 = sdy.reduce_scatter max [{}, {}] %1 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %3 = sdy.all_reduce {} %2 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %4 = sdy.collective_permute %3 out_sharding=<@m, [{"a", ?}, {?}]> : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @unused
func.func @unused(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) {
  // Only the all-to-all is erased.
  // CHECK-NEXT: sdy.all_gather
  // CHECK-NEXT: return
  %0 = sdy.all_to_all [{"a"}: 0->1] %arg0 out_sharding=<@m, [{}, {"a"}]> : tensor<8x8xf32>
  %1 = sdy.all_gather [{"a"}, {}] %arg0 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @slice_of_gather
func.func @slice_of_gather(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %0 = sdy.all_gather [{"a"}, {}] %arg0
  // CHECK-NEXT: %1 = sdy.all_slice [{}, {"a"}] %0
  // CHECK-NEXT: return %arg0, %1
  %0 = sdy.all_gather [{"a"}, {}] %arg0 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{"a"}, {}] %0 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  %2 = sdy.all_slice [{}, {"a"}] %0 out_sharding=<@m, [{}, {"a"}]> : tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @reduce_of_what_was_replicated
func.func @reduce_of_what_was_replicated(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>})
    -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %0 = sdy.replicated_to_unreduced {"b", "c"} %arg0
  // CHECK-NEXT: %1 = sdy.all_reduce {"b"} %0
  // CHECK-NEXT: return %arg0, %1
  %0 = sdy.replicated_to_unreduced {"b", "c"} %arg0 out_sharding=<@m, [{"a"}], unreduced={"b", "c"}> : tensor<8xf32>
  %1 = sdy.all_reduce {"b", "c"} %0 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  %2 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}], unreduced={"c"}> : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @reduce_of_what_was_sharded
func.func @reduce_of_what_was_sharded(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"c", "b":(1)2}, {"a", "b":(2)2}]>})
    -> tensor<8x8xf32> {
  // The sub-axes of both dims are merged to one axis of the reduction.
  // CHECK:      %1 = sdy.all_gather [{"b":(1)2}, {"b":(2)2}] %arg0 out_sharding=<@m, [{"c"}, {"a"}]>
  // CHECK-NEXT: return %1
  %0 = sdy.sharded_to_unreduced [{"b":(1)2}, {"b":(2)2}] %arg0 out_sharding=<@m, [{"c"}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
  %1 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"c"}, {"a"}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @all_to_alls
func.func @all_to_alls(%arg0: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}, {"b"}, {}]>}) -> tensor<8x8x8x8xf32> {
  // CHECK-NEXT: %0 = sdy.all_to_all [{"a"}: 0->1, {"b"}: 2->3] %arg0 out_sharding=<@m, [{}, {"a"}, {}, {"b"}]>
  // CHECK-NEXT: return %0
  %0 = sdy.all_to_all [{"b"}: 2->3] %arg0 out_sharding=<@m, [{"a"}, {}, {}, {"b"}]> : tensor<8x8x8x8xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@m, [{}, {"a"}, {}, {"b"}]> : tensor<8x8x8x8xf32>
  return %1 : tensor<8x8x8x8xf32>
}

// CHECK-LABEL: func.func @all_to_alls_that_share_a_dim
func.func @all_to_alls_that_share_a_dim(%arg0: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}, {}]>}) -> tensor<8x8x8xf32> {
  // CHECK-NEXT: sdy.all_to_all [{"a"}: 0->1]
  // CHECK-NEXT: sdy.all_to_all [{"a"}: 1->2]
  %0 = sdy.all_to_all [{"a"}: 0->1] %arg0 out_sharding=<@m, [{}, {"a"}, {}]> : tensor<8x8x8xf32>
  %1 = sdy.all_to_all [{"a"}: 1->2] %0 out_sharding=<@m, [{}, {}, {"a"}]> : tensor<8x8x8xf32>
  return %1 : tensor<8x8x8xf32>
}

// CHECK-LABEL: func.func @a_permute_between_meshes_stays
func.func @a_permute_between_meshes_stays(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.collective_permute
  %0 = sdy.collective_permute %arg0 out_sharding=<@m, [{"c"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @a_permute_of_a_replicated_tensor
func.func @a_permute_of_a_replicated_tensor(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@reversed, [{}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %0 = sdy.collective_permute %arg0 out_sharding=<@m, [{}]>
  // CHECK-NEXT: %1 = sdy.all_slice [{"a"}] %0
  // CHECK-NEXT: return %arg0, %1
  %0 = sdy.collective_permute %arg0 out_sharding=<@m, [{}]> : tensor<8xf32>
  %1 = sdy.collective_permute %arg0 out_sharding=<@m, [{}]> : tensor<8xf32>
  %2 = sdy.all_slice [{"a"}] %1 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}
