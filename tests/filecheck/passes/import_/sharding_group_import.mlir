// Groups that share a value are merged; groups are numbered from 0.
// RUN: sdy-opt %s --sdy-sharding-group-import | filecheck %s

func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) {
  sdy.sharding_group %a group_id=50 : tensor<4xf32>
  sdy.sharding_group %b group_id=7 : tensor<4xf32>
  sdy.sharding_group %c group_id=50 : tensor<4xf32>
  sdy.sharding_group %c group_id=3 : tensor<4xf32>
  sdy.sharding_group %a group_id=3 : tensor<4xf32>
  sdy.sharding_group %d group_id=-1 : tensor<4xf32>
  return
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>) {
// CHECK-NEXT: sdy.sharding_group %arg0 group_id=0 : tensor<4xf32>
// CHECK-NEXT: sdy.sharding_group %arg1 group_id=1 : tensor<4xf32>
// CHECK-NEXT: sdy.sharding_group %arg2 group_id=0 : tensor<4xf32>
// CHECK-NEXT: sdy.sharding_group %arg3 group_id=2 : tensor<4xf32>
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: }
