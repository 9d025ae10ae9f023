// Sums that meet behind linear ops are reduced once.
// RUN: sdy-opt %s --split-input-file -sdy-optimize-communication | filecheck %s
// RUN: sdy-opt %s --split-input-file -sdy-optimize-communication='delay=false' | filecheck %s --check-prefix=OFF

// One is transposed. To the other, a replicated term is added, which one device keeps.

sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func @behind_a_transpose
// CHECK:         %[[TERM:.*]] = sdy.replicated_to_unreduced {"x"} %arg2
// CHECK-NEXT:    %[[A:.*]] = stablehlo.dot_general %arg0, %arg0
// CHECK-NEXT:    %[[SUM:.*]] = stablehlo.add %[[TERM]], %[[A]]
// CHECK-NEXT:    %[[B:.*]] = stablehlo.dot_general %arg1, %arg1
// CHECK-NEXT:    %[[T:.*]] = stablehlo.transpose %[[B]]
// CHECK-NEXT:    %[[ALL:.*]] = stablehlo.add %[[SUM]], %[[T]]
// CHECK-NEXT:    sdy.all_reduce {"x"} %[[ALL]]
// CHECK-NOT:     sdy.all_reduce
// OFF-LABEL:   func @behind_a_transpose
// OFF-COUNT-2:   sdy.all_reduce {"x"}
func.func @behind_a_transpose(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = stablehlo.add %w, %1 : tensor<8x8xf32>
  %3 = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %4 = sdy.all_reduce {"x"} %3 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = stablehlo.add %2, %5 : tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}

// -----

// A sum over the trips of a loop is reduced after it.

sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func @in_a_loop
// CHECK:         %[[TERM:.*]] = sdy.replicated_to_unreduced {"x"} %arg1
// CHECK:         %[[LOOP:.*]]:2 = stablehlo.while(%{{.*}} = %c, %[[SUM:.*]] = %[[TERM]])
// CHECK:           %[[A:.*]] = stablehlo.dot_general %arg0, %arg0
// CHECK-NEXT:      stablehlo.add %[[SUM]], %[[A]]
// CHECK:         sdy.all_reduce {"x"} %[[LOOP]]#1
// OFF-LABEL:   func @in_a_loop
// OFF:           sdy.reduce_scatter [{"x"}, {}]
// OFF:           stablehlo.add
func.func @in_a_loop(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %g = %w) : tensor<i32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
    %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %3 = stablehlo.add %g, %2 : tensor<8x8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}

// -----

// What the loop reads is reduced in each trip, to shards that are gathered once.

sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func @read_in_a_loop
// CHECK-NOT:     sdy.replicated_to_unreduced
// CHECK:         stablehlo.while
// CHECK:           sdy.reduce_scatter [{"x"}, {}]
// CHECK-NOT:       sdy.reshard
// CHECK:           stablehlo.return
// CHECK-NEXT:    }
// CHECK-NEXT:    sdy.reshard {{.*}} <@mesh, [{}, {}]>
// OFF-LABEL:   func @read_in_a_loop
// OFF:           sdy.reduce_scatter [{"x"}, {}]
func.func @read_in_a_loop(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %g = %w) : tensor<i32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
    %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %t = stablehlo.tanh %g : tensor<8x8xf32>
    %3 = stablehlo.add %t, %2 : tensor<8x8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
