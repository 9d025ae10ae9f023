// Regions with names become functions, inner ones first.
// RUN: sdy-opt %s --sdy-export-named-computations | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.named_computation<"outer">(%x) in_shardings=[<@m, [{"b"}]>] (%y: tensor<4xf32>) {
    %e = sdy.data_flow_edge %y sharding=<@m, [{"a"}]> : tensor<4xf32>
    %1 = sdy.named_computation<"inner">(%e) (%z: tensor<4xf32>) {
      %2 = stablehlo.tanh %z : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } {execution_thread = "t1", keep = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %f = sdy.data_flow_edge %1 sharding=<@m, [{"a", ?}]> : tensor<4xf32>
    sdy.return %f : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = call @outer(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @inner(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {execution_thread = "t1", sdy.original_func_name = "inner"} {
// CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @outer(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> attributes {sdy.original_func_name = "outer"} {
// CHECK-NEXT: %0 = call @inner(%arg0) {keep = 3 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a", ?}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
