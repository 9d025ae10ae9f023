// Each op gets its sharding rule as an attribute.
// RUN: sdy-opt %s --sdy-populate-op-sharding-rules | filecheck %s

func.func @main(%p: tensor<24xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.reshape %p : (tensor<24xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<24xf32>) -> tensor<4x6xf32> {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=4, j=6}>} : (tensor<24xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: return %0 : tensor<4x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
