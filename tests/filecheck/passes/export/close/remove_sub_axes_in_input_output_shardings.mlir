// Open dims end before their first sub-axis.
// RUN: sdy-opt %s --sdy-remove-sub-axes-in-input-output-shardings | filecheck %s

sdy.mesh @m = <["a"=4, "b"=2]>
func.func @main(%0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a":(1)2, ?}p1, {"a":(2)2}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a":(1)2, "b", ?}p3, {?}]>}) {
  return %0 : tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=4, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", ?}p1, {"a":(2)2}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}p3, {?}]>}) {
// CHECK-NEXT: return %arg0 : tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
