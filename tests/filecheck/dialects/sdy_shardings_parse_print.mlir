// RUN: sdy-opt %s | sdy-opt | filecheck %s
// RUN: sdy-opt %s -mlir-print-op-generic | sdy-opt | filecheck %s

// CHECK:      sdy.mesh @grid = <["rows"=4, "cols"=6]>
sdy.mesh @grid = <["rows"=4, "cols"=6]>
// CHECK-NEXT: sdy.mesh @reordered = <["a"=3], device_ids=[2, 0, 1]> {note = "backwards"}
sdy.mesh @reordered = <["a"=3], device_ids=[2, 0, 1]> {note = "backwards"}
// CHECK-NEXT: sdy.mesh @identity = <["a"=3]>
sdy.mesh @identity = <["a"=3], device_ids=[0, 1, 2]>
// CHECK-NEXT: sdy.mesh @"one device" = <[], device_ids=[7]>
sdy.mesh @"one device" = <[], device_ids=[7]>
// CHECK-NEXT: sdy.mesh @nowhere = <[]>
sdy.mesh @"nowhere" = #sdy.mesh<[]>

#line = #sdy.mesh<["x"=2]>
#halved = #sdy.sharding<@grid, [{"rows":(1)2}, {}]>

// CHECK-NEXT: sdy.mesh @line = <["x"=2]>
sdy.mesh @line = #line

// CHECK:      func.func @on_functions(
// CHECK-SAME:   %arg0: tensor<8x?xf32> {sdy.sharding = #sdy.sharding<@grid, [{"rows", ?}p1, {"cols":(2)3}p0]>},
// CHECK-SAME:   %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@"one device", []>})
// CHECK-SAME:   -> (tensor<8x?xf32> {sdy.sharding = #sdy.sharding<mesh<["q"=6]>, [{}, {?}]>})
// CHECK-SAME:   attributes {sdy.func_manual_axes = #sdy<manual_axes{"rows"}>}
func.func @on_functions(
    %arg0: tensor<8x?xf32> {sdy.sharding = #sdy.sharding< @grid,[{"rows" , ?} p1, {"cols" : (2) 3}p0]>},
    %arg1: tensor<f32> {sdy.sharding = #sdy<sharding<@"one device", []>>})
    -> (tensor<8x?xf32> {sdy.sharding = #sdy.sharding<mesh<["q"=6]>, [{}, {?}]>})
    attributes {sdy.func_manual_axes = #sdy<manual_axes{"rows"}>} {
  return %arg0 : tensor<8x?xf32>
}

// CHECK-LABEL: func.func @on_ops
func.func @on_ops(%arg0: tensor<8x6xf32>) {
  // The groups are printed in a fixed order.
  // CHECK-NEXT: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {}], replicated={"rows"}, unreduced={"cols"}>]>}
  %0 = stablehlo.abs %arg0
      {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {}], unreduced=sum{"cols"}, replicated={"rows"}>]>}
      : tensor<8x6xf32>
  // CHECK-NEXT: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {}], unreduced=max{"rows":(1)2, "cols"}>]>}
  %1 = stablehlo.abs %arg0
      {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{}, {}], unreduced=max{"rows":(1)2, "cols"}>]>}
      : tensor<8x6xf32>
  // CHECK-NEXT: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"rows":(1)2}, {}]>]>}
  %2 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[#halved]>} : tensor<8x6xf32>
  // CHECK-NEXT: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}, {}]>]>}
  %3 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh #line, [{"x"}, {}]>]>} : tensor<8x6xf32>
  // CHECK-NEXT: stablehlo.transpose %arg0, dims = [1, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=8, j=6} permutation={i} blocked_propagation={i, j}, custom>}
  %4 = stablehlo.transpose %arg0, dims = [1, 0]
      {sdy.sharding_rule = #sdy.op_sharding_rule<([i,j])->([j,i]){i=8,j=6} permutation={i} blocked_propagation={i,j},
      custom>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  // CHECK-NEXT: stablehlo.abs %2 {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"rows":(1)2 = operand-0 -> [result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"rows":(1)2}, {}]>]>}
  %5 = stablehlo.abs %2 {sdy.sharding = #sdy.sharding_per_value<[#halved]>,
      sdy.propagation_edges = #sdy.propagation_edges<[{step-0=[{"rows":(1)2=operand-0->[result-0]}]}]>} : tensor<8x6xf32>
  // CHECK-NEXT: return {sdy.sharding = #sdy.sharding_per_value<[<@"one device", []>]>}
  return {sdy.sharding = #sdy.sharding_per_value<[<@"one device", []>]>}
}
