// Every value that a region op passes on gets an edge, with the sharding of the value.
// RUN: sdy-opt %s --sdy-add-data-flow-edges | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4x4xf32>, %i: tensor<i32>) -> tensor<4x4xf32> {
  %0:2 = stablehlo.while(%u = %x, %v = %i) : tensor<4x4xf32>, tensor<i32> attributes
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {?}]>, <@m, []>]>}
  cond {
    %c = stablehlo.compare LT, %v, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %u, %v : tensor<4x4xf32>, tensor<i32>
  }
  %1 = sdy.manual_computation(%0#0) in_shardings=[<@m, [{"b", "a"}, {?}]>]
      out_shardings=[<@m, [{"b"}, {?}]>] manual_axes={"b"} (%y: tensor<2x4xf32>) {
    sdy.return %y : tensor<2x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4x4xf32>, %arg1: tensor<i32>) -> tensor<4x4xf32> {
// CHECK-NEXT: %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<4x4xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {?}]>, <@m, []>]>}
// CHECK-NEXT: cond {
// CHECK-NEXT: %5 = stablehlo.compare LT, %iterArg_0, %iterArg_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT: stablehlo.return %5 : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: stablehlo.return %iterArg, %iterArg_0 : tensor<4x4xf32>, tensor<i32>
// CHECK-NEXT: }
// CHECK-NEXT: %1 = sdy.data_flow_edge %0#0 sharding=<@m, [{"a"}, {?}]> : tensor<4x4xf32>
// CHECK-NEXT: %2 = sdy.data_flow_edge %0#1 sharding=<@m, []> : tensor<i32>
// CHECK-NEXT: %3 = sdy.manual_computation(%1) in_shardings=[<@m, [{"b", "a"}, {?}]>] out_shardings=[<@m, [{"b"}, {?}]>] manual_axes={"b"} (%arg2: tensor<2x4xf32>) {
// CHECK-NEXT: %5 = sdy.data_flow_edge %arg2 sharding=<@m, [{"a"}, {?}]> : tensor<2x4xf32>
// CHECK-NEXT: sdy.return %5 : tensor<2x4xf32>
// CHECK-NEXT: } : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %4 = sdy.data_flow_edge %3 sharding=<@m, [{"b"}, {?}]> : tensor<4x4xf32>
// CHECK-NEXT: return %4 : tensor<4x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
