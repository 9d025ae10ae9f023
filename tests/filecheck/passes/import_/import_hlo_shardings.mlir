// RUN: sdy-opt %s --split-input-file --sdy-import-hlo-shardings | filecheck %s

// One mesh expresses all tile assignments; dims that a constraint does not specify are open.
// CHECK:      sdy.mesh @mesh = <["_axis_0"=4, "_axis_1"=2]>
// CHECK:      @main(%arg0: tensor<8x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_0"}, {"_axis_1"}]>}
// CHECK-SAME: -> (tensor<8x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_1"}, {}]>})
// CHECK-NEXT: %0 = sdy.sharding_constraint %arg0 <@mesh, [{"_axis_0"}, {?}]> : tensor<8x16xbf16>
// CHECK-NEXT: %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"_axis_0", "_axis_1"}]>]>}
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%arg0: tensor<8x16xbf16> {mhlo.sharding = "{devices=[4,2]<=[8]}"})
      -> (tensor<8x16xbf16> {mhlo.sharding = "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[1]",
        mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %1 = stablehlo.tanh %0 {mhlo.sharding = "{devices=[1,8]<=[8] metadata={op_name=\"tanh\"}}"} : tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}

// -----

// An irregular order of devices is that of the mesh.
// CHECK:      sdy.mesh @mesh = <["_axis_0"=4], device_ids=[0, 2, 3, 1]>
// CHECK:      @main(%arg0: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_0"}]>})
func.func @main(%arg0: tensor<8xi32> {mhlo.sharding = "{devices=[4]0,2,3,1}"}) -> tensor<8xi32> {
  return %arg0 : tensor<8xi32>
}

// -----

// The attributes of Shardy in HLO are exact, so they are preferred.
// CHECK:      sdy.mesh @m = <["x"=2, "y"=2]>
// CHECK:      @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>})
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>})
// CHECK-NEXT: return %arg0
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{m = #sdy.mesh<[\22x\22=2, \22y\22=2]>}"}} {
  func.func @main(%arg0: tensor<8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@m, [{\22x\22, ?}]>"},
        mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%arg0) {has_side_effect = true,
        mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@m, [{\22y\22}]>]>"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// The calls at the borders of a manual computation, and the function between them.
// CHECK:      sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"_axis_0"}, {}]>] out_shardings=[<@mesh, [{"_axis_0"}, {}]>] manual_axes={"_axis_0"} (%arg1: tensor<4x8xf32>) {
// CHECK-NEXT:   stablehlo.sine %arg1 : tensor<4x8xf32>
// CHECK-NEXT:   sdy.return
// CHECK-NOT:  @body
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = call @body(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
  func.func private @body(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// What cannot be expressed stays: one device, another number of devices, and no sharding at all.
// CHECK:      @main(%arg0: tensor<8xf32> {mhlo.sharding = "{maximal device=1}"}, %arg1: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}, %arg2: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2}"}, %arg3: tensor<8xf32>)
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%arg0: tensor<8xf32> {mhlo.sharding = "{maximal device=1}"},
                  %arg1: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"},
                  %arg2: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2}"},
                  %arg3: tensor<8xf32> {mhlo.sharding = "{unknown}"}) {
    return
  }
}
