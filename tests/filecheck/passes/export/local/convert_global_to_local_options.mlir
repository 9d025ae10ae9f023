// Gathers dim by dim, scatters of several dims at once, groups by mesh axes, replicas instead of partitions, -0.0 where nothing is added.
// RUN: sdy-opt %s "--sdy-convert-global-to-local=per-dim-all-gather=true combine-multi-dimension-reduce-scatter=true enable-rgv3=true" | filecheck %s
// RUN: sdy-opt %s --sdy-convert-global-to-local=replica-count=6 | filecheck %s --check-prefix=REPLICAS
// RUN: sdy-opt %s --sdy-convert-global-to-local | filecheck %s --check-prefix=ZERO
// RUN: sdy-opt %s --sdy-convert-global-to-local=keep-zero-signs=true | filecheck %s --check-prefix=MINUS

sdy.mesh @m = <["p"=2, "q"=3]>
// CHECK: func.func @gather(%arg0: tensor<2x2xf32>
func.func @gather(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {"q"}]>}) -> tensor<4x6xf32> {
  // CHECK-NEXT: %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "q">]>, use_global_device_ids}> : (tensor<2x2xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64
  // CHECK-SAME: axes = [#stablehlo.axis_ref<name = "p">]
  // CHECK-NEXT: return %1 : tensor<4x6xf32>
  %0 = sdy.all_gather [{"p"}, {"q"}] %x out_sharding=<@m, [{}, {}]> : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// CHECK: func.func @scatter(%arg0: tensor<4x5x6xf32>
func.func @scatter(%x: tensor<4x5x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}], unreduced={"p", "q"}>})
    -> (tensor<4x5x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"p"}, {}, {"q"}]>}) {
  // CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<4x5x6xf32>) -> tensor<2x2x5x3x2xf32>
  // CHECK-NEXT: %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2, 4] : (tensor<2x2x5x3x2xf32>) -> tensor<2x3x2x5x2xf32>
  // CHECK-NEXT: %2 = stablehlo.reshape %1 : (tensor<2x3x2x5x2xf32>) -> tensor<6x2x5x2xf32>
  // CHECK-NEXT: %3 = "stablehlo.reduce_scatter"(%2)
  // CHECK-SAME: scatter_dimension = 0 : i64
  // CHECK: (tensor<6x2x5x2xf32>) -> tensor<1x2x5x2xf32>
  // CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1x2x5x2xf32>) -> tensor<2x5x2xf32>
  %0 = sdy.reduce_scatter [{"p"}, {}, {"q"}] %x out_sharding=<@m, [{"p"}, {}, {"q"}]> : tensor<4x5x6xf32>
  return %0 : tensor<4x5x6xf32>
}
// REPLICAS: func.func @move
func.func @move(%x: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"q"}, {}]>})
    -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"q"}]>}) {
  // REPLICAS-NEXT: %0 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups
  // REPLICAS: stablehlo.replica_id : tensor<ui32>
  %0 = sdy.all_to_all [{"q"}: 0->1] %x out_sharding=<@m, [{}, {"q"}]> : tensor<6x6xf32>
  %1 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"q"}]>]>} : tensor<6x6xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"q"}]>]>} : tensor<6x6xf32>
  return %2 : tensor<6x6xf32>
}
// Where a device has nothing to add, it adds 0.0, or -0.0: of integers always 0.
// ZERO: func.func @once
// ZERO: stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// MINUS: func.func @once
// MINUS: stablehlo.constant dense<-0.000000e+00> : tensor<4xf32>
func.func @once(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"p"}>}) {
  %0 = sdy.replicated_to_unreduced {"p"} %x out_sharding=<@m, [{}], unreduced={"p"}> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// MINUS: func.func @counted_once
// MINUS: stablehlo.constant dense<0> : tensor<4xi32>
func.func @counted_once(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
    -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"p"}>}) {
  %0 = sdy.replicated_to_unreduced {"p"} %x out_sharding=<@m, [{}], unreduced={"p"}> : tensor<4xi32>
  return %0 : tensor<4xi32>
}
