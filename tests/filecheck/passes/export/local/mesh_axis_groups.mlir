// Collectives that name their groups by mesh axes get lists of devices, since the mesh is removed.
// RUN: sdy-opt %s --sdy-drop-sharding-and-mesh | filecheck %s

sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = "stablehlo.all_gather"(%a) <{
    all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>,
    use_global_device_ids
  }> : (tensor<4xf32>) -> tensor<8xf32>
  %1 = "stablehlo.all_to_all"(%b) <{
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
    concat_dimension = 0 : i64,
    replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = @m, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>,
    split_count = 4 : i64,
    split_dimension = 0 : i64
  }> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// CHECK-NOT: sdy.mesh
// CHECK: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0
// CHECK-SAME: replica_groups = dense<{{\[\[}}0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids
// CHECK: "stablehlo.all_to_all"(%arg1)
// CHECK-SAME: replica_groups = dense<{{\[\[}}0, 2, 1, 3]]> : tensor<1x4xi64>
