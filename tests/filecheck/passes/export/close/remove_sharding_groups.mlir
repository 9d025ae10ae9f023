// Propagation has honoured them.
// RUN: sdy-opt %s --sdy-remove-sharding-groups | filecheck %s

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  sdy.sharding_group %a group_id=1 : tensor<4xf32>
  return %a : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
