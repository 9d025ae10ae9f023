// RUN: sdy-opt %s --sdy-pad-uneven-dims | filecheck %s

sdy.mesh @m = <["x"=4]>

// What is sliced moves to the front; along the rest of the way dims are as long, and what is summed is masked.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<64x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %b: tensor<63x3xf32>)
    -> (tensor<3x3xf32>, tensor<63x3xf32>, tensor<f32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[ZERO_B:.*]] = stablehlo.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.pad %arg1, %[[ZERO_B]], low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x3xf32>, tensor<f32>) -> tensor<64x3xf32>
  // CHECK-NEXT: %[[ZERO_0:.*]] = stablehlo.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[NEXT:.*]] = stablehlo.pad %arg0, %[[ZERO_0]], low = [-1, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x3xf32>, tensor<f32>) -> tensor<64x3xf32>
  %0 = stablehlo.slice %a [1:64, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x3xf32>) -> tensor<63x3xf32>
  // CHECK-NEXT: %[[FIRST:.*]] = sdy.reshard %arg0 <@m, [{"x"}, {}]> : tensor<64x3xf32>
  %1 = stablehlo.slice %a [0:63, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x3xf32>) -> tensor<63x3xf32>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[NEXT]], %[[B]] {{.*}} : tensor<64x3xf32>
  %2 = stablehlo.add %0, %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<63x3xf32>
  // CHECK:      %[[END:.*]] = stablehlo.constant dense<63> : tensor<i32>
  // CHECK:      %[[IS_ROW:.*]] = stablehlo.compare LT, {{.*}} -> tensor<64xi1>
  // CHECK-NEXT: stablehlo.broadcast_in_dim %[[IS_ROW]], dims = [0] {{.*}} -> tensor<64x3xi1>
  // CHECK:      %[[MASKED:.*]] = stablehlo.select
  // CHECK:      %[[MASKED_FIRST:.*]] = stablehlo.select
  // CHECK-NEXT: stablehlo.dot_general %[[MASKED]], %[[MASKED_FIRST]], contracting_dims = [0] x [0] {{.*}} -> tensor<3x3xf32>
  %3 = stablehlo.dot_general %2, %1, contracting_dims = [0] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>} : (tensor<63x3xf32>, tensor<63x3xf32>)
      -> tensor<3x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK:      stablehlo.reduce(%[[NEXT]] init: {{.*}}) applies stablehlo.add across dimensions = [0, 1] {{.*}} : (tensor<64x3xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, []>]>} : (tensor<63x3xf32>, tensor<f32>) -> tensor<f32>
  // A dim of which padding would be half stays: sdy-drop-uneven-axes will see to it.
  // CHECK:      stablehlo.slice {{.*}} : (tensor<64x3xf32>) -> tensor<2x1xf32>
  %5 = stablehlo.slice %a [0:2, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<64x3xf32>) -> tensor<2x1xf32>
  %6 = stablehlo.reshape %5 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<2x1xf32>) -> tensor<2xf32>
  // What leaves the program has no padding.
  // CHECK:      return {{.*}} : tensor<3x3xf32>, tensor<63x3xf32>, tensor<f32>, tensor<2xf32>
  return %3, %2, %4, %6 : tensor<3x3xf32>, tensor<63x3xf32>, tensor<f32>, tensor<2xf32>
}

// Functions that are called take and give padded values.
// CHECK-LABEL: func.func @caller
// CHECK:       call @callee({{.*}}) {{.*}} : (tensor<8xf32>) -> tensor<8xf32>
func.func @caller(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<7xf32> {
  %0 = stablehlo.slice %a [1:8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  %1 = call @callee(%0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<7xf32>) -> tensor<7xf32>
  return %1 : tensor<7xf32>
}

// CHECK-LABEL: func.func private @callee
// CHECK-SAME:  tensor<8xf32>
func.func private @callee(%a: tensor<7xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<7xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<7xf32>
  return %0 : tensor<7xf32>
}

// Operands of a join are brought to their places; each gives what is its own.
// CHECK-LABEL: func.func @joined
func.func @joined(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<1xf32>) -> tensor<8xf32> {
  // CHECK:      %[[REST:.*]] = stablehlo.pad %arg0, {{.*}}, low = [-1], high = [1]
  // CHECK:      %[[A:.*]] = sdy.reshard %[[REST]]
  // CHECK:      %[[B:.*]] = stablehlo.pad %arg1, {{.*}}, low = [7], high = [0]
  // CHECK:      stablehlo.select {{.*}}, %[[A]], %[[B]] {{.*}} tensor<8xf32>
  %0 = stablehlo.slice %a [1:8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  %1 = stablehlo.concatenate %0, %b, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
