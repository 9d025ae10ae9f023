// Shardings list all manual axes, in mesh order.
// RUN: sdy-opt %s --sdy-manual-axes-cleanup | filecheck %s

sdy.mesh @m = <["a"=2, "b"=4, "c"=2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"b":(1)2}, {?}]>]
      out_shardings=[<@m, [{"b":(1)2, ?}, {}], unreduced={"a"}>] manual_axes={"c", "b"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=4, "c"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"b":(1)2}, {?}], replicated={"b":(2)2, "c"}>] out_shardings=[<@m, [{"b":(1)2, ?}, {}], replicated={"b":(2)2, "c"}, unreduced={"a"}>] manual_axes={"b", "c"} (%arg1: tensor<4x8xf32>) {
// CHECK-NEXT: sdy.return %arg1 : tensor<4x8xf32>
// CHECK-NEXT: } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %0 : tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
