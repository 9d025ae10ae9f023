// RUN: sdy-opt %s --split-input-file -sdy-optimize-communication | filecheck %s
// RUN: sdy-opt %s --split-input-file -sdy-optimize-communication='recut=false delay=false scatter=false share=false reuse=false' | filecheck %s --check-prefix=OFF

// Two partial sums that are only added meet in one all-reduce.

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func @sums_meet
// CHECK:         %[[A:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT:    %[[B:.*]] = stablehlo.dot_general %arg2, %arg3
// CHECK-NEXT:    %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK:         sdy.all_reduce {"y"} %[[SUM]]
// CHECK-NOT:     sdy.all_reduce
// OFF-LABEL:   func @sums_meet
// OFF-COUNT-2:   sdy.all_reduce {"y"}
func.func @sums_meet(
    %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %arg1: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
    %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %arg3: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x64xf32>
  %2 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = sdy.all_reduce {"y"} %2 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x64xf32>
  %4 = stablehlo.add %1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// -----

// What is reduced, and cut along the same axis behind, is reduce-scattered.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func @scattered
// CHECK:         %[[PARTIAL:.*]] = stablehlo.dot_general
// CHECK:         sdy.reduce_scatter [{"x"}, {}] %[[PARTIAL]] out_sharding=<@mesh, [{"x"}, {}]>
// CHECK-NOT:     sdy.all_reduce
// OFF-LABEL:   func @scattered
// OFF:           sdy.all_reduce {"x"}
// OFF:           sdy.reshard {{.*}} <@mesh, [{"x"}, {}]>
func.func @scattered(
    %arg0: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// A value that is wanted whole, and otherwise cut, is gathered; the other cut comes out of that.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func @gathered_once
// CHECK:         %[[WHOLE:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]>
// CHECK:         sdy.reshard %[[WHOLE]] <@mesh, [{}, {"x"}]>
// OFF-LABEL:   func @gathered_once
// OFF:           sdy.reshard %arg0 <@mesh, [{}, {"x"}]>
func.func @gathered_once(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.reshard %arg0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The operands are small and the result is large: gather them, instead of reducing it; with no more products a device.

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @smaller_operand
// CHECK-NOT:     sdy.all_reduce
// CHECK:         sdy.reshard %arg{{[01]}}
// CHECK-NOT:     sdy.all_reduce
// OFF-LABEL:   func @smaller_operand
// OFF:           sdy.all_reduce {"x"}
func.func @smaller_operand(
    %arg0: tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x2xf32>, tensor<2x64xf32>) -> tensor<64x64xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// What a loop carries along may be cut otherwise, in all of its places.

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @carried
// CHECK-NOT:     sdy.reshard
// CHECK:         stablehlo.while
// CHECK-NOT:     sdy.reshard
// CHECK:         return
// OFF-LABEL:   func @carried
// OFF-COUNT-4:   sdy.reshard
func.func @carried(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i1>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %1 = stablehlo.while(%iterArg = %0) : tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>}
  cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %3 = sdy.reshard %iterArg <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %4 = stablehlo.negate %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
    %5 = sdy.reshard %4 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
    stablehlo.return %5 : tensor<8x8xf32>
  }
  %2 = sdy.reshard %1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// On two meshes, nothing is done.

sdy.mesh @mesh = <["x"=4]>
sdy.mesh @other = <["z"=2]>

// CHECK-LABEL: func @two_meshes
// CHECK:         sdy.all_reduce {"x"}
func.func @two_meshes(
    %arg0: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// What is partial by a maximum is no sum: an element of it is reduced as a maximum, and not behind the op that takes it.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func @element_of_maximum
// CHECK:         %[[PARTIAL:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum
// CHECK-NEXT:    %[[MAX:.*]] = sdy.all_reduce max {"x"} %[[PARTIAL]]
// CHECK-NEXT:    stablehlo.slice %[[MAX]] [1:2]
// CHECK-NOT:     sdy.all_reduce
func.func @element_of_maximum(%arg0: tensor<4x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<1xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.maximum across dimensions = [0]
      : (tensor<4x12xi32>, tensor<i32>) -> tensor<12xi32>
  %1 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<12xi32>
  %2 = stablehlo.slice %1 [1:2] : (tensor<12xi32>) -> tensor<1xi32>
  return %2 : tensor<1xi32>
}

// -----

// What a loop carries along unchanged is gathered before it.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func @invariant
// CHECK:         %[[W:.*]] = sdy.reshard %arg1 <@mesh, [{}, {}]>
// CHECK:         stablehlo.while({{.*}}, %{{.*}} = %[[W]])
// CHECK-NOT:     sdy.reshard
// CHECK:         return
// OFF-LABEL: func @invariant
// OFF:         stablehlo.while({{.*}}, %{{.*}} = %arg1)
// OFF:         sdy.reshard
func.func @invariant(
    %arg0: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<100> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %x = %arg0, %w = %arg1) : tensor<i32>, tensor<256x64xf32>, tensor<64x64xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>}
  cond {
    %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = sdy.reshard %w <@mesh, [{}, {}]> : tensor<64x64xf32>
    %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0]
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<256x64xf32>, tensor<64x64xf32>)
        -> tensor<256x64xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2, %w : tensor<i32>, tensor<256x64xf32>, tensor<64x64xf32>
  }
  return %0#1 : tensor<256x64xf32>
}

// -----

// Six devices are three by two for one tensor and two by three for another. A tensor whose sharding the search does not
// represent keeps it; the sums of the others meet.

sdy.mesh @mesh = <["x"=6]>

// CHECK-LABEL: func @split_in_two_ways
// CHECK:         %[[A:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT:    %[[B:.*]] = stablehlo.dot_general %arg2, %arg1
// CHECK-NEXT:    %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK-NEXT:    %[[HALF:.*]] = sdy.all_slice [{"x":(3)2}, {}] %[[SUM]]
// CHECK-NEXT:    sdy.all_reduce {"x":(1)3} %[[HALF]]
// CHECK-NOT:     sdy.all_reduce
// CHECK:         stablehlo.negate %arg3 {{.*}}{"x":(1)2}
// OFF-LABEL:   func @split_in_two_ways
// OFF-COUNT-2:   sdy.all_reduce {"x":(1)3}
func.func @split_in_two_ways(
    %arg0: tensor<8x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(1)3}]>},
    %arg1: tensor<9x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}, {}]>},
    %arg2: tensor<8x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(1)3}]>},
    %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>})
    -> (tensor<8x64xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x9xf32>, tensor<9x64xf32>) -> tensor<8x64xf32>
  %1 = sdy.all_reduce {"x":(1)3} %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x64xf32>
  %2 = stablehlo.dot_general %arg2, %arg1, contracting_dims = [1] x [0] : (tensor<8x9xf32>, tensor<9x64xf32>) -> tensor<8x64xf32>
  %3 = sdy.all_reduce {"x":(1)3} %2 out_sharding=<@mesh, [{}, {}]> : tensor<8x64xf32>
  %4 = stablehlo.add %1, %3 : tensor<8x64xf32>
  %5 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}]>]>} : tensor<8xf32>
  return %4, %5 : tensor<8x64xf32>, tensor<8xf32>
}
