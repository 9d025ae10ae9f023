// Shardings on all meshes of eight devices are expressed on @main.
// RUN: sdy-opt %s --sdy-unify-meshes | filecheck %s

sdy.mesh @other_size = <["z"=4]>
sdy.mesh @maximal = <[], device_ids=[1]>
sdy.mesh @main = <["x"=4, "y"=2]>
sdy.mesh @sub_axes = <["a"=2, "b"=4]>
sdy.mesh @full_axes = <["n"=8]>
sdy.mesh @same_devices = <["b"=2, "a"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
sdy.mesh @reversed = <["n"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>

func.func @axes(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main, [{"x"}, {?}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@sub_axes, [{"b", ?}p1, {}], replicated={"a"}>},
                %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@full_axes, [{"n":(2)4}, {}], unreduced={"n":(1)2}>},
                %d: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@same_devices, [{"a"}, {"b"}]>},
                %e: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@reversed, [{"n"}, {}]>}) {
  %0 = stablehlo.abs %d {sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>]>} : tensor<8x8xf32>
  return
}

func.func @manual(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@full_axes, [{"n"}]>] out_shardings=[<@full_axes, [{"n"}]>]
      manual_axes={"n"} (%arg: tensor<1xf32>) {
    sdy.return %arg : tensor<1xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @other_size = <["z"=4]>
// CHECK-NEXT: sdy.mesh @main_0 = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK-NEXT: sdy.mesh @maximal = <[], device_ids=[1]>
// CHECK-NEXT: sdy.mesh @main = <["x"=4, "y"=2]>
// CHECK-NEXT: sdy.mesh @sub_axes = <["a"=2, "b"=4]>
// CHECK-NEXT: sdy.mesh @full_axes = <["n"=8]>
// CHECK-NEXT: sdy.mesh @same_devices = <["b"=2, "a"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
// CHECK-NEXT: sdy.mesh @reversed = <["n"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK-NEXT: func.func @axes(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main, [{"x"}, {?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main, [{"x":(2)2, "y", ?}p1, {}], replicated={"x":(1)2}>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main, [{"x":(2)2, "y"}, {}], unreduced={"x":(1)2}>}, %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main, [{"x"}, {"y"}]>}, %arg4: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@main_0, [{"x", "y"}, {}]>}) {
// CHECK-NEXT: %0 = stablehlo.abs %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@maximal, []>]>} : tensor<8x8xf32>
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: func.func @manual(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %0 = sdy.manual_computation(%arg0) in_shardings=[<@main, [{"x", "y"}]>] out_shardings=[<@main, [{"x", "y"}]>] manual_axes={"x", "y"} (%arg1: tensor<1xf32>) {
// CHECK-NEXT: sdy.return %arg1 : tensor<1xf32>
// CHECK-NEXT: } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
