// Slices, pads and concatenations along a sharded dim are merged if both ends divide by the axis.
// RUN: sdy-opt %s --sdy-merge-slices | filecheck %s

sdy.mesh @m = <["x"=4]>

// CHECK-LABEL: func.func @slice_of_pad
// CHECK:      %0 = stablehlo.pad %arg0, %{{.*}}, low = [2], high = [-2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK-NEXT: return %0, %arg0 : tensor<64xf32>, tensor<64xf32>
func.func @slice_of_pad(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<64xf32>, tensor<64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [3], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<64xf32>, tensor<f32>) -> tensor<67xf32>
  %1 = stablehlo.slice %0 [1:65] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<67xf32>) -> tensor<64xf32>
  %2 = stablehlo.slice %0 [3:67] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<67xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// What a function such as that of jnp.pad moves is seen too.
// CHECK-LABEL: func.func @pad_of_slice
// CHECK:      %1 = stablehlo.pad %arg0, %{{.*}}, low = [1], high = [-1]
// CHECK-NOT:  slice
// CHECK:      return %1
// CHECK-NOT:  @padded
func.func @pad_of_slice(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.slice %a [0:63] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<63xf32>
  %1 = func.call @padded(%0, %z) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<63xf32>, tensor<i32>) -> tensor<66xf32>
  %2 = stablehlo.slice %1 [1:65] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<66xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
func.func private @padded(%a: tensor<63xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %z: tensor<i32>
      ) -> (tensor<66xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.convert %z : (tensor<i32>) -> tensor<f32>
  %1 = stablehlo.pad %a, %0, low = [2], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<63xf32>, tensor<f32>) -> tensor<66xf32>
  return %1 : tensor<66xf32>
}

// CHECK-LABEL: func.func @rotation
// CHECK:      %[[A:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [-44], high = [44]
// CHECK:      %[[B:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [20], high = [-20]
// CHECK:      %[[R:.*]] = stablehlo.select %{{.*}}, %[[A]], %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @rotation(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<64xf32> {
  %0 = stablehlo.slice %a [44:64] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<20xf32>
  %1 = stablehlo.slice %a [0:44] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<44xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<20xf32>, tensor<44xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// What is removed is not added again by a pad; values that differ are not merged; nor are steps.
// CHECK-LABEL: func.func @unchanged
// CHECK:      stablehlo.slice %arg0 [1:64]
// CHECK:      stablehlo.pad {{.*}} low = [1]
// CHECK:      stablehlo.pad %arg0, {{.*}} low = [2]
// CHECK:      stablehlo.pad {{.*}} low = [2]
// CHECK:      stablehlo.slice {{.*}} [0:64]
// CHECK:      stablehlo.slice %arg0 [0:64:2]
func.func @unchanged(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<64xf32>, tensor<64xf32>, tensor<32xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:64] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<63xf32>
  %1 = stablehlo.pad %0, %z, low = [1], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<63xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.pad %a, %z, low = [2], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<64xf32>, tensor<f32>) -> tensor<66xf32>
  %3 = stablehlo.pad %2, %o, low = [2], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<66xf32>, tensor<f32>) -> tensor<68xf32>
  %4 = stablehlo.slice %3 [0:64] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<68xf32>) -> tensor<64xf32>
  %5 = stablehlo.slice %a [0:64:2] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<32xf32>
  return %1, %4, %5 : tensor<64xf32>, tensor<64xf32>, tensor<32xf32>
}

// The end of a value that jnp.pad repeats at its other end comes from the value itself; the axis does not divide 66.
// CHECK-LABEL: func.func @periodic
// The axis does not divide the first row or the 63 others either, so that their concatenation is made of shifts, too.
// CHECK-NOT:  tensor<66x6xf32>
// CHECK:      %[[REST:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [-1, 0], high = [1, 0]
// CHECK:      %[[FIRST:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [63, 0], high = [-63, 0]
// CHECK:      stablehlo.compare LT
// CHECK:      %[[NEXT:.*]] = stablehlo.select %{{.*}}, %[[REST]], %[[FIRST]]
// CHECK-NOT:  tensor<66x6xf32>
// CHECK:      return %[[NEXT]], %arg0
func.func @periodic(%a: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> (tensor<64x6xf32>, tensor<64x6xf32>) {
  %0 = stablehlo.slice %a [63:64, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x6xf32>) -> tensor<1x6xf32>
  %1 = stablehlo.slice %a [0:1, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x6xf32>) -> tensor<1x6xf32>
  %2 = stablehlo.concatenate %0, %a, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
      : (tensor<1x6xf32>, tensor<64x6xf32>, tensor<1x6xf32>) -> tensor<66x6xf32>
  %3 = stablehlo.slice %2 [2:66, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<66x6xf32>) -> tensor<64x6xf32>
  %4 = stablehlo.slice %2 [1:65, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<66x6xf32>) -> tensor<64x6xf32>
  return %3, %4 : tensor<64x6xf32>, tensor<64x6xf32>
}

// A slice that the axis does not divide stays, as do steps, and slices of what the axis divides.
// CHECK-LABEL: func.func @even
// CHECK:      stablehlo.concatenate
// CHECK-NEXT: stablehlo.slice %{{.*}} [0:63]
// CHECK-NEXT: stablehlo.slice %{{.*}} [0:64:2]
// CHECK-NEXT: stablehlo.concatenate
// CHECK-NEXT: stablehlo.slice %{{.*}} [8:40]
func.func @even(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<2xf32>
      ) -> (tensor<63xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<64xf32>, tensor<2xf32>) -> tensor<66xf32>
  %1 = stablehlo.slice %0 [0:63] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<66xf32>) -> tensor<63xf32>
  %2 = stablehlo.slice %0 [0:64:2] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<66xf32>) -> tensor<32xf32>
  %3 = stablehlo.concatenate %a, %a, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %4 = stablehlo.slice %3 [8:40] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<128xf32>) -> tensor<32xf32>
  return %1, %2, %4 : tensor<63xf32>, tensor<32xf32>, tensor<32xf32>
}

// The negated half of a rotary embedding is negated after it was moved, and so is its gradient, whose zeros stay zeros.
// CHECK-LABEL: func.func @rotary
// CHECK:      %[[SECOND:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [-32], high = [32]
// CHECK-NEXT: %[[NEGATED:.*]] = stablehlo.negate %[[SECOND]]
// CHECK:      %[[FIRST:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [32], high = [-32]
// CHECK:      stablehlo.select %{{.*}}, %[[NEGATED]], %[[FIRST]]
// CHECK:      %[[MINUS_ZERO:.*]] = stablehlo.constant dense<-0.000000e+00>
// CHECK-NEXT: %[[PADDED:.*]] = stablehlo.pad %arg0, %[[MINUS_ZERO]], low = [32], high = [-32]
// CHECK-NEXT: stablehlo.negate %[[PADDED]]
func.func @rotary(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = stablehlo.slice %a [32:64] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<32xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<32xf32>
  %2 = stablehlo.slice %a [0:32] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<32xf32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %4 = stablehlo.slice %a [0:32] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<32xf32>
  %5 = stablehlo.negate %4 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<32xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %6 = stablehlo.pad %5, %z, low = [32], high = [0], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<32xf32>, tensor<f32>) -> tensor<64xf32>
  return %3, %6 : tensor<64xf32>, tensor<64xf32>
}

// What is sliced is not sharded along one axis twice.
// CHECK-LABEL: func.func @axis_of_another_dim
// CHECK:      %0 = stablehlo.slice %arg0 [0:4, 0:5] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
// CHECK:      %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
// CHECK:      return %2
func.func @axis_of_another_dim(%a: tensor<4x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}
      ) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.concatenate %a, %a, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
      : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x10xf32>
  %1 = stablehlo.slice %0 [0:4, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<4x10xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Values are reversed after an elementwise op, unless that makes them wider, and not twice, in functions neither.
// CHECK-LABEL: func.func @reversals
// CHECK-NEXT: %0 = stablehlo.exponential %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
// CHECK-NEXT: %1 = stablehlo.add %arg0, %0
// CHECK-NEXT: %2 = stablehlo.reverse %1, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
// CHECK-NEXT: %3 = stablehlo.reverse %arg0, dims = [0]
// CHECK-NEXT: %4 = stablehlo.convert %3
// CHECK-NEXT: return %0, %2, %4
func.func @reversals(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf64>) {
  %0 = call @reversed(%a) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = stablehlo.exponential %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  %2 = call @reversed(%1) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = stablehlo.reverse %a, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  %4 = stablehlo.reverse %2, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  %5 = stablehlo.add %3, %4 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  %6 = stablehlo.reverse %a, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  %7 = stablehlo.convert %6 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<64xf32>) -> tensor<64xf64>
  return %2, %5, %7 : tensor<64xf32>, tensor<64xf32>, tensor<64xf64>
}
func.func private @reversed(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
