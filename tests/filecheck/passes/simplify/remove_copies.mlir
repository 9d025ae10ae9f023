// RUN: sdy-opt %s -sdy-remove-copies | filecheck %s

sdy.mesh @m = <["x"=2]>

// A roll by nothing along dim 0 and by one along dim 1.
// CHECK-LABEL: func @roll
// CHECK-NEXT:  %[[END:.*]] = stablehlo.slice %arg0 [0:8, 3:4]
// CHECK-NEXT:  %[[START:.*]] = stablehlo.slice %arg0 [0:8, 0:3]
// CHECK-NEXT:  stablehlo.concatenate %[[END]], %[[START]], dim = 1
func.func @roll(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.slice %a [8:8, 0:4] : (tensor<8x4xf32>) -> tensor<0x4xf32>
  %1 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<0x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.slice %2 [0:8, 3:4] : (tensor<8x4xf32>) -> tensor<8x1xf32>
  %4 = stablehlo.slice %2 [0:8, 0:3] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<8x1xf32>, tensor<8x3xf32>) -> tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// CHECK-LABEL: func @copies
// CHECK:       %[[TURNED:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1, 0]
// CHECK-NEXT:  return %arg0, %[[TURNED]]
func.func @copies(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %a : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.convert %0 : tensor<2x2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.transpose %2, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = stablehlo.reverse %3, dims = [] : tensor<2x2xf32>
  %5 = stablehlo.pad %4, %zero, low = [0, 0], high = [0, 0], interior = [0, 0]
    : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %5, %6 : tensor<2x2xf32>, tensor<2x2xf32>
}

// These have the type of their operand, but move elements.
// CHECK-LABEL: func @moves
// CHECK-NEXT:  stablehlo.transpose
// CHECK-NEXT:  stablehlo.reverse
// CHECK-NEXT:  stablehlo.pad
func.func @moves(%a: tensor<2x2xf32>, %z: tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<2x2xf32>
  %2 = stablehlo.pad %1, %z, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A copy with another sharding becomes a reshard.
// CHECK-LABEL: func @sharded
// CHECK-NEXT:  %[[WHOLE:.*]] = sdy.reshard %arg0 <@m, [{}]>
// CHECK-NEXT:  return %[[WHOLE]]
func.func @sharded(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.slice %a [0:4] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// All operands are empty.
// CHECK-LABEL: func @empty
// CHECK-NEXT:  stablehlo.concatenate %arg0, %arg0
func.func @empty(%a: tensor<0xf32>) -> tensor<0xf32> {
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}
