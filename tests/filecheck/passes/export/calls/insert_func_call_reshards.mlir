// A call has the shardings of its function; what it asked for becomes a reshard.
// RUN: sdy-opt %s --sdy-insert-func-call-reshards | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{"b", ?}]>]>} : (tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT: %0:2 = call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a", ?}]>, <@m, [{?}]>]>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %1 = sdy.reshard %0#1 <@m, [{"b", ?}]> : tensor<4xf32>
// CHECK-NEXT: return %0#0, %1 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f(%arg0: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, tensor<4xf32>) {
// CHECK-NEXT: return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
