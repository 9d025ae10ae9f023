// RUN: sdy-opt %s -canonicalize | filecheck %s
// RUN: sdy-opt %s -pass-pipeline='builtin.module(canonicalize{enable-patterns=sdy-reshard})' | filecheck %s --check-prefix=LABELLED

sdy.mesh @m = <["a"=2, "b"=2, "one"=1]>

// CHECK-LABEL: func.func @chain
// LABELLED-LABEL: func.func @chain
func.func @chain(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: %0 = sdy.reshard %arg0 <@m, [{"b"}, {}]>
  // CHECK-NEXT: return %0
  // LABELLED-NEXT: %0 = sdy.reshard %arg0 <@m, [{"b"}, {}]>
  // LABELLED-NEXT: return %0
  %0 = sdy.reshard %arg0 <@m, [{"a"}, {}]> : tensor<8x4xf32>
  %1 = sdy.reshard %0 <@m, [{}, {"a"}]> : tensor<8x4xf32>
  %2 = sdy.reshard %1 <@m, [{"b"}, {}]> : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @reuse_through_a_reshape
// LABELLED-LABEL: func.func @reuse_through_a_reshape
func.func @reuse_through_a_reshape(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
  // CHECK-NEXT: %0 = sdy.reshard %arg0 <@m, [{"a"}, {}]>
  // CHECK-NEXT: %1 = stablehlo.reshape %0
  // CHECK-NEXT: return %0, %1
  // LABELLED-COUNT-2: sdy.reshard
  %0 = sdy.reshard %arg0 <@m, [{"a"}, {}]> : tensor<8x4xf32>
  %1 = stablehlo.reshape %arg0 : (tensor<8x4xf32>) -> tensor<32xf32>
  %2 = sdy.reshard %1 <@m, [{"a"}]> : tensor<32xf32>
  return %0, %2 : tensor<8x4xf32>, tensor<32xf32>
}

// CHECK-LABEL: func.func @reuse_through_a_transpose
func.func @reuse_through_a_transpose(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %0 = sdy.reshard %arg0 <@m, [{"a"}, {"b"}]>
  // CHECK-NEXT: %1 = stablehlo.transpose %0, dims = [1, 0]
  // CHECK-NEXT: return %0, %1
  %0 = sdy.reshard %arg0 <@m, [{"a"}, {"b"}]> : tensor<8x8xf32>
  %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sdy.reshard %1 <@m, [{"b"}, {"a"}]> : tensor<8x8xf32>
  return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @unreduced_axes_are_not_mixed_up
func.func @unreduced_axes_are_not_mixed_up(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: sdy.reshard %arg0 <@m, [{"a"}]>
  // CHECK-NEXT: sdy.reshard %arg0 <@m, [{"a"}], unreduced={"b"}>
  %0 = sdy.reshard %arg0 <@m, [{"a"}]> : tensor<8xf32>
  %1 = sdy.reshard %arg0 <@m, [{"a"}], unreduced={"b"}> : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @the_earliest_of_several
func.func @the_earliest_of_several(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %0 = sdy.reshard %arg0 <@m, [{"a"}]>
  // CHECK-NEXT: return %0, %0, %0
  %0 = sdy.reshard %arg0 <@m, [{"a"}]> : tensor<8xf32>
  %1 = sdy.reshard %arg0 <@m, [{"a", ?}]> : tensor<8xf32>
  %2 = sdy.reshard %arg0 <@m, [{"a"}]> : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @operands_that_nobody_uses
// LABELLED-LABEL: func.func @operands_that_nobody_uses
func.func @operands_that_nobody_uses(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: sdy.manual_computation(%arg0) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%arg2: tensor<4xf32>) {
  // LABELLED-NEXT: sdy.manual_computation(%arg1, %arg0)
  %0 = sdy.manual_computation(%arg1, %arg0) in_shardings=[<@m, [{}]>,
      <@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%arg2: tensor<4xf32>, %arg3: tensor<4xf32>) {
    sdy.return %arg3 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @manual_on_one_device
func.func @manual_on_one_device(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %0 = stablehlo.abs %arg0
  // CHECK-NEXT: return %0
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"one", "a"}]>]
      out_shardings=[<@m, [{"one", "a"}]>] manual_axes={"one"} (%arg1: tensor<8xf32>) {
    %1 = stablehlo.abs %arg1 : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
