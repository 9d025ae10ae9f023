// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Collectives, and transfers to and from the host, which have only the generic form.

// CHECK: func.func @collectives(%arg0: tensor<4x8xf32>) {
func.func @collectives(%x: tensor<4x8xf32>) {
  // CHECK-NEXT{LITERAL}: %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %all_gather = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]>
      : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT: %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>]>, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %by_axes = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>]>,
      axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  // CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
  // CHECK-NEXT: %10 = stablehlo.add %arg1, %arg2 : tensor<f32>
  // CHECK-NEXT: stablehlo.return %10 : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %all_reduce = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT{LITERAL}: %3 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  // CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
  // CHECK-NEXT: %10 = stablehlo.add %arg1, %arg2 : tensor<f32>
  // CHECK-NEXT: stablehlo.return %10 : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %reduce_scatter = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT{LITERAL}: %4 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %all_to_all = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]>
      : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %permute = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT{LITERAL}: %6 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %broadcast = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %7 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sum = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %8 = stablehlo.partition_id : tensor<ui32>
  %partition = stablehlo.partition_id : tensor<ui32>
  // CHECK-NEXT: %9 = stablehlo.replica_id : tensor<ui32>
  %replica = stablehlo.replica_id : tensor<ui32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @transfers(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) {
func.func @transfers(%x: tensor<4xf32>, %token: !stablehlo.token) {
  // CHECK-NEXT: %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %sent = "stablehlo.send"(%x, %token) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>,
      is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK-NEXT: %1:2 = "stablehlo.recv"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %received:2 = "stablehlo.recv"(%token) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>,
      is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // CHECK-NEXT: %2:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "abc"}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %fed:2 = "stablehlo.infeed"(%token) <{infeed_config = "abc"}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // CHECK-NEXT: %3 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %handed = "stablehlo.outfeed"(%x, %token) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK-NEXT: return
  return
}
