// Copies that ended up alike are shared again.
// RUN: sdy-opt %s --sdy-unflatten-call-graph | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @f_0(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @f_1(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @f_0(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) -> tensor<4xf32> attributes
    {sdy.original_func_name = "f"} {
  return %x : tensor<4xf32>
}
func.func private @f_1(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) -> tensor<4xf32> attributes
    {sdy.original_func_name = "f"} {
  return %x : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = call @f_0(%0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = call @f_0(%1) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %2 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f_0(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @f_1(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
