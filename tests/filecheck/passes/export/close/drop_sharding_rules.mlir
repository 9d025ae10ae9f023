// Rules go, but for custom ones.
// RUN: sdy-opt %s --sdy-drop-sharding-rules | filecheck %s

func.func @main(%p: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.abs %p {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=6}>} : tensor<4x6xf32>
  %1 = stablehlo.custom_call @mine(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=4, j=6},
      custom>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<4x6xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<4x6xf32>
// CHECK-NEXT: %1 = stablehlo.custom_call @mine(%0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=4, j=6}, custom>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: return %1 : tensor<6x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
