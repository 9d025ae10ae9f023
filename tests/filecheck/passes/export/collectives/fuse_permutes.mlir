// RUN: sdy-opt %s -split-input-file -sdy-fuse-permutes | filecheck %s

// CHECK-LABEL: func @swapped
func.func @swapped(%arg0: tensor<4x4xf32>) -> tensor<8x2xf32> {
  // CHECK-NEXT: %[[LARGE:.*]] = stablehlo.constant
  // CHECK-NEXT: %[[TWICE:.*]] = stablehlo.concatenate %arg0, %arg0, dim = 1
  // CHECK-NEXT: %[[SENT:.*]] = "stablehlo.all_to_all"(%[[TWICE]])
  // CHECK-SAME:   channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, concat_dimension = 0
  // CHECK-SAME{LITERAL}: replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1
  // CHECK-SAME:   (tensor<4x8xf32>) -> tensor<16x2xf32>
  // CHECK-NEXT: stablehlo.partition_id
  // CHECK:      stablehlo.constant dense<[8, 8, 0, 0]> : tensor<4xi64>
  // CHECK:      %[[KEPT:.*]] = stablehlo.dynamic_slice %[[SENT]], {{.*}} sizes = [8, 2]
  // CHECK-NEXT: return %[[KEPT]]
  %large = stablehlo.constant dense<0.0> : tensor<512xf32>
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_to_all"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64,
    split_dimension = 1 : i64, concat_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}>
    : (tensor<4x4xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

// There is no time at which as much memory is taken as the larger all-to-all would take.
// CHECK-LABEL: func @no_room
func.func @no_room(%arg0: tensor<4x4xf32>) -> tensor<8x2xf32> {
  // CHECK-NEXT: collective_permute
  // CHECK-NEXT: all_to_all
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_to_all"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64,
    split_dimension = 1 : i64, concat_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}>
    : (tensor<4x4xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

// Within the groups: the all-to-all alone, in another order. Replicas have no channel.
// CHECK-LABEL: func @within
func.func @within(%arg0: tensor<4x4xf32>) -> tensor<8x2xf32> {
  // CHECK-NEXT: "stablehlo.all_to_all"(%arg0)
  // CHECK-SAME{LITERAL}: replica_groups = dense<[[0, 1], [2, 3]]>
  // CHECK-NEXT: return
  %0 = "stablehlo.all_to_all"(%arg0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64,
    split_dimension = 1 : i64, concat_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64>}>
    : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

// Somebody else reads what is permuted.
// CHECK-LABEL: func @read_twice
func.func @read_twice(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<8x2xf32>) {
  // CHECK: collective_permute
  // CHECK-NEXT: all_to_all
  %large = stablehlo.constant dense<0.0> : tensor<512xf32>
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}>
    : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_to_all"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64,
    split_dimension = 1 : i64, concat_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<8x2xf32>
}
