// RUN: not sdy-opt %s --sdy-drop-sharding-and-mesh 2>&1 | filecheck %s

// CHECK: error: replica_groups: axis "x" is used twice [SDY-D016]

sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_gather"(%a) <{
    all_gather_dim = 0 : i64,
    replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = @m, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "x">]>
  }> : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
