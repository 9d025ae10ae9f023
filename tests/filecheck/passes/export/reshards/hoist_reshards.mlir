// Reshards of what a loop does not change move to before the loop, through the functions that its body calls.
// RUN: sdy-opt %s --sdy-hoist-reshards | filecheck %s

sdy.mesh @m = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func public @main
func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<0.0> : tensor<4xf32>
  // CHECK:       [[WHOLE:%.*]] = sdy.reshard %arg0 <@m, [{}, {}]>
  // CHECK-NEXT:  [[LOOP:%.*]]:3 = stablehlo.while(%iterArg = [[WHOLE]], {{.*}}sdy.sharding_per_value<[<@m, [{}, {}]>,
  %0:3 = stablehlo.while(%a = %x, %b = %i, %c = %s) : tensor<8x4xf32>, tensor<i32>, tensor<4xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>, <@m, []>, <@m, [{}]>]>}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %b, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    // CHECK:      [[SLICED:%.*]] = sdy.reshard %iterArg <@m, [{"x"}, {}]>
    // CHECK:      func.call @row(%iterArg,
    // CHECK-NEXT: stablehlo.abs [[SLICED]]
    %1 = func.call @row(%a, %b) : (tensor<8x4xf32>, tensor<i32>) -> tensor<4xf32>
    %2 = stablehlo.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x4xf32>
    %3 = stablehlo.add %c, %1 : tensor<4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %b, %one : tensor<i32>
    stablehlo.return %a, %4, %3 : tensor<8x4xf32>, tensor<i32>, tensor<4xf32>
  }
  // CHECK:      return %arg0, [[LOOP]]#2
  return %0#0, %0#2 : tensor<8x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func private @row
// CHECK-SAME:  %arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}
// CHECK-NOT:   sdy.reshard
func.func private @row(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = sdy.reshard %x <@m, [{}, {}]> : tensor<8x4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.dynamic_slice %0, %i, %zero, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @changed
func.func private @changed(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  // CHECK:      stablehlo.while(%iterArg = %arg0,
  %0:2 = stablehlo.while(%a = %x, %b = %i) : tensor<8xf32>, tensor<i32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, []>]>}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %b, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    // CHECK:      sdy.reshard %iterArg <@m, [{}]>
    %1 = sdy.reshard %a <@m, [{}]> : tensor<8xf32>
    %2 = stablehlo.reverse %1, dims = [0] : tensor<8xf32>
    %3 = sdy.reshard %2 <@m, [{"x"}]> : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %b, %one : tensor<i32>
    stablehlo.return %3, %4 : tensor<8xf32>, tensor<i32>
  }
  return %0#0 : tensor<8xf32>
}
