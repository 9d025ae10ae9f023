// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// `reduce`, in short form if its region is one commutative op on the arguments in order.

// CHECK: func.func @reductions(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>, %arg2: tensor<4x8xi32>, %arg3: tensor<i32>) {
func.func @reductions(%x: tensor<4x8xf32>, %s: tensor<f32>, %n: tensor<4x8xi32>, %i: tensor<i32>) {
  // CHECK-NEXT: %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %1 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [0, 1] {note} : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %most = stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [0, 1] {note}
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %2 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.multiply across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %same = stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    reducer(%so_far: tensor<f32>, %new: tensor<f32>) {
    %t = stablehlo.multiply %so_far, %new : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }
  // CHECK-NEXT: %3 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
  // CHECK-NEXT: %6 = stablehlo.add %arg5, %arg4 : tensor<f32>
  // CHECK-NEXT: stablehlo.return %6 : tensor<f32>
  // CHECK-NEXT: }
  %swapped = stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    reducer(%so_far: tensor<f32>, %new: tensor<f32>) {
    %t = stablehlo.add %new, %so_far : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }
  // CHECK-NEXT: %4 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
  // CHECK-NEXT: %6 = stablehlo.power %arg4, %arg5 : tensor<f32>
  // CHECK-NEXT: stablehlo.return %6 : tensor<f32>
  // CHECK-NEXT: }
  %not_commutative = stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    reducer(%so_far: tensor<f32>, %new: tensor<f32>) {
    %t = stablehlo.power %so_far, %new : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }
  // CHECK-NEXT: %5:2 = stablehlo.reduce(%arg0 init: %arg1), (%arg2 init: %arg3) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-NEXT: reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
  // CHECK-NEXT: %6 = stablehlo.compare GE, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  // CHECK-NEXT: %7 = stablehlo.select %6, %arg4, %arg6 : tensor<i1>, tensor<f32>
  // CHECK-NEXT: %8 = stablehlo.select %6, %arg5, %arg7 : tensor<i1>, tensor<i32>
  // CHECK-NEXT: stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  // CHECK-NEXT: }
  %pair:2 = stablehlo.reduce(%x init: %s), (%n init: %i) across dimensions = [1]
      : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %larger = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %value = stablehlo.select %larger, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %larger, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  // CHECK-NEXT: return
  return
}
