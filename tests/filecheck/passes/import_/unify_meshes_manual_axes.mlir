// The manual axis "a" is a part of "x", so "x" is split into two axes.
// RUN: sdy-opt %s --sdy-unify-meshes | filecheck %s
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @other = <["a"=2, "b"=4]>

func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@other, [{"a", ?}, {?}]>] out_shardings=[<@other, [{"a", ?}, {"b", ?}]>]
      manual_axes={"a"} (%arg: tensor<4x8xf32>) {
    sdy.return %arg : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @mesh_0 = <["x:(1)2"=2, "x:(2)2"=2, "y"=2]>
// CHECK-NEXT: sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT: sdy.mesh @other = <["a"=2, "b"=4]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{"x:(1)2", "x:(2)2"}, {"y"}]>}) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh_0, [{"x:(1)2", ?}, {?}]>] out_shardings=[<@mesh_0, [{"x:(1)2", ?}, {"x:(2)2", "y", ?}]>] manual_axes={"x:(1)2"} (%arg1: tensor<4x8xf32>) {
// CHECK-NEXT: sdy.return %arg1 : tensor<4x8xf32>
// CHECK-NEXT: } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %0 : tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
