// Shardy does not visit the ops of a function that is called in a loop when an argument of the loop is sharded late.
// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline=until-stable=true | filecheck %s --check-prefix STABLE
// RUN: sdy-opt %s --sdy-partition-pipeline | filecheck %s --check-prefix STABLE

// CHECK: stablehlo.while{{.*}} <@mesh, [{}, {}]>]>
// CHECK: stablehlo.sine %arg1 : tensor<8x4xf32>
// STABLE: stablehlo.while{{.*}} <@mesh, [{"x"}, {}]>]>
// STABLE: stablehlo.sine %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}

sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x4x1xf32>) -> tensor<8x4xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %2:3 = stablehlo.while(%v = %1, %i = %c, %s = %z) : tensor<8x4xf32>, tensor<i32>, tensor<8x4xf32>
  cond {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %3 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    %4 = func.call @outer(%s, %v) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %v, %3, %4 : tensor<8x4xf32>, tensor<i32>, tensor<8x4xf32>
  }
  return %2#2 : tensor<8x4xf32>
}
func.func private @outer(%s: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.sine %v : tensor<8x4xf32>
  %1 = stablehlo.cosine %0 : tensor<8x4xf32>
  %2 = stablehlo.dot_general %s, %1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
