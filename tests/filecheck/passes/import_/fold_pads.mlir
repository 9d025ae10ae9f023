// RUN: sdy-opt %s --sdy-fold-pads | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline=fold-pads=true | filecheck %s --check-prefix=SHARDED

sdy.mesh @m = <["x"=4]>

// CHECK-LABEL: func @main
// CHECK-SAME:      %[[A:arg0]]: tensor<8x16xf32>
// CHECK-NOT:     stablehlo.pad
// CHECK:         "stablehlo.reduce_window"(%[[A]], %cst)
// CHECK-SAME:      padding = dense<{{\[}}[0, 0], [1, 1]]>
// CHECK-SAME:      window_dimensions = array<i64: 1, 3>
// CHECK:         }) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
// SHARDED-LABEL: func @main
// SHARDED:       "stablehlo.reduce_window"
// SHARDED:       }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x16xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x18xf32>
  %1 = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x18xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// The gradient of a window that takes steps: the interior becomes base dilation, and the edges are added up.
// CHECK-LABEL: func @steps
// CHECK-NOT:     stablehlo.pad
// CHECK:         "stablehlo.reduce_window"
// CHECK-SAME:      base_dilations = array<i64: 2>, padding = dense<3>
func.func @steps(%a: tensor<8xf32>) -> tensor<19xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [2], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<18xf32>
  %1 = "stablehlo.reduce_window"(%0, %c) <{window_dimensions = array<i64: 3>, padding = dense<[[1, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<18xf32>, tensor<f32>) -> tensor<19xf32>
  return %1 : tensor<19xf32>
}

// jnp.pad is a call, with a zero of another type.
// CHECK-LABEL: func @convolution
// CHECK-NOT:     stablehlo.pad
// CHECK:         stablehlo.convolution(%arg0, %arg1)
// CHECK-SAME:      pad = {{\[}}[1, 2]]
// CHECK-NOT:   @_pad
func.func @convolution(%a: tensor<2x16x3xf32>, %k: tensor<4x3x5xf32>) -> tensor<2x16x5xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = call @_pad(%a, %c) : (tensor<2x16x3xf32>, tensor<i32>) -> tensor<2x19x3xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19x3xf32>, tensor<4x3x5xf32>) -> tensor<2x16x5xf32>
  return %1 : tensor<2x16x5xf32>
}
func.func private @_pad(%a: tensor<2x16x3xf32>, %c: tensor<i32>) -> tensor<2x19x3xf32> {
  %0 = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
  %1 = stablehlo.pad %a, %0, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x19x3xf32>
  return %1 : tensor<2x19x3xf32>
}

// Another value, a padded batch and a sharding that the user wrote stay.
// CHECK-LABEL: func @kept
// CHECK-COUNT-4: stablehlo.pad
func.func @kept(%a: tensor<2x16x3xf32>, %k: tensor<4x3x5xf32>) -> (tensor<2x16x5xf32>, tensor<4x16x5xf32>, tensor<2x15x5xf32>, tensor<2x17x3xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %minus = stablehlo.constant dense<-0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %one, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x19x3xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19x3xf32>, tensor<4x3x5xf32>) -> tensor<2x16x5xf32>
  %2 = stablehlo.pad %a, %zero, low = [1, 1, 0], high = [1, 2, 0], interior = [0, 0, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<4x19x3xf32>
  %3 = stablehlo.convolution(%2, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x19x3xf32>, tensor<4x3x5xf32>) -> tensor<4x16x5xf32>
  %4 = stablehlo.pad %a, %zero, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0]
    {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}, {}]>]>} : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x18x3xf32>
  %5 = stablehlo.convolution(%4, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x18x3xf32>, tensor<4x3x5xf32>) -> tensor<2x15x5xf32>
  %6 = stablehlo.pad %a, %minus, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x18x3xf32>
  %7 = "stablehlo.reduce_window"(%6, %zero) <{window_dimensions = array<i64: 1, 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x18x3xf32>, tensor<f32>) -> tensor<2x17x3xf32>
  return %1, %3, %5, %7 : tensor<2x16x5xf32>, tensor<4x16x5xf32>, tensor<2x15x5xf32>, tensor<2x17x3xf32>
}

// A pad after a pad; the value is unknown, but the same.
// CHECK-LABEL: func @twice
// CHECK-NOT:     stablehlo.pad
// CHECK:         padding = dense<{{\[}}[1, 2]]>
func.func @twice(%a: tensor<8xf32>, %c: tensor<f32>) -> tensor<9xf32> {
  %0 = stablehlo.pad %a, %c, low = [1], high = [0], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.pad %0, %c, low = [0], high = [2], interior = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<11xf32>
  %2 = "stablehlo.reduce_window"(%1, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<11xf32>, tensor<f32>) -> tensor<9xf32>
  return %2 : tensor<9xf32>
}
