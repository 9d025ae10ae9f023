// A dim is padded where it becomes cut, keeps its padding while it is, and loses it where it is whole again.
// RUN: sdy-opt %s --sdy-pad-for-divisibility --sdy-unshard-unsupported-ops | filecheck %s

sdy.mesh @g = <["r"=4, "s"=2]>

// CHECK-LABEL: func.func @sum_of_exponentials
// CHECK:       stablehlo.pad %arg0, %{{.*}}, low = [0, 0], high = [2, 0]
// CHECK:       %[[E:.*]] = stablehlo.exponential {{.*}} : tensor<8x5xf32>
// CHECK:       stablehlo.constant dense<0.000000e+00>
// CHECK:       stablehlo.constant dense<0.000000e+00>
// CHECK:       stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}, {}]>]>} : tensor<8x5xi32>
// CHECK:       stablehlo.constant dense<6> : tensor<i32>
// CHECK:       %[[S:.*]] = stablehlo.select %{{.*}}, %[[E]], %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}, {}]>]>}
// CHECK:       stablehlo.reduce(%[[S]] init: %{{.*}}) applies stablehlo.add
func.func @sum_of_exponentials(%a: tensor<6x5xf32>) -> tensor<5xf32> {
  %0 = sdy.all_slice [{"r"}, {}] %a out_sharding=<@g, [{"r"}, {}]> : tensor<6x5xf32>
  %1 = stablehlo.exponential %0 {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}, {}]>]>} : tensor<6x5xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<6x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}

// The shards of size 3 and those of size 1 begin at other places: the dim is gathered in between.
// CHECK-LABEL: func.func @padded_otherwise
// CHECK:       %[[A:.*]] = sdy.all_slice [{"s"}] %{{.*}} out_sharding=<@g, [{"s"}]> : tensor<6xi32>
// CHECK:       %[[W:.*]] = sdy.all_gather [{"s"}] %[[A]] out_sharding=<@g, [{}]> : tensor<6xi32>
// CHECK:       stablehlo.slice %[[W]] [0:5]
// CHECK:       sdy.all_slice [{"s", "r"}] %{{.*}} out_sharding=<@g, [{"s", "r"}]> : tensor<8xi32>
// CHECK:       sdy.all_gather [{"s", "r"}] %{{.*}} out_sharding=<@g, [{}]> : tensor<8xi32>
// CHECK:       stablehlo.slice %{{.*}} [0:5]
func.func @padded_otherwise(%a: tensor<5xi32>) -> tensor<5xi32> {
  %0 = sdy.all_slice [{"s"}] %a out_sharding=<@g, [{"s"}]> : tensor<5xi32>
  %1 = sdy.all_slice [{"r"}] %0 out_sharding=<@g, [{"s", "r"}]> : tensor<5xi32>
  %2 = sdy.all_gather [{"s", "r"}] %1 out_sharding=<@g, [{}]> : tensor<5xi32>
  return %2 : tensor<5xi32>
}

// What no padding leaves as it is, is computed by every device. A barrier is what it lets through.
// CHECK-LABEL: func.func @no_identity
// CHECK:       %[[A:.*]] = sdy.all_slice [{"s"}] %{{.*}} out_sharding=<@g, [{"s"}]> : tensor<4xf32>
// CHECK-NOT:   propagation_barrier
// CHECK:       %[[W:.*]] = sdy.all_gather [{"s"}] %[[A]] out_sharding=<@g, [{}]> : tensor<4xf32>
// CHECK:       %[[T:.*]] = stablehlo.slice %[[W]] [0:3]
// CHECK:       stablehlo.reduce(%[[T]] init: %{{.*}}) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
func.func @no_identity(%a: tensor<3xf32>) -> tensor<f32> {
  %0 = sdy.all_slice [{"s"}] %a out_sharding=<@g, [{"s"}]> : tensor<3xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    reducer(%p: tensor<f32>, %q: tensor<f32>) {
      %s = stablehlo.subtract %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }
  return %2 : tensor<f32>
}

// One element that is repeated is on the first device alone.
// CHECK-LABEL: func.func @repeated
// CHECK:       %[[W:.*]] = sdy.all_gather [{"s"}] %{{.*}} out_sharding=<@g, [{}]> : tensor<2xf32>
// CHECK:       %[[T:.*]] = stablehlo.slice %[[W]] [0:1]
// CHECK:       %[[B:.*]] = stablehlo.broadcast_in_dim %[[T]], dims = [0] {{.*}} : (tensor<1xf32>) -> tensor<2xf32>
// CHECK:       sdy.all_slice [{"s"}] %[[B]] out_sharding=<@g, [{"s"}]> : tensor<2xf32>
func.func @repeated(%a: tensor<1xf32>) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@g, [{"s"}]>}) {
  %0 = sdy.all_slice [{"s"}] %a out_sharding=<@g, [{"s"}]> : tensor<1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"s"}]>]>}
      : (tensor<1xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// The kernel is cut along its windows, and partial results are added up behind: one device in two adds the whole one.
// CHECK-LABEL: func.func @part_of_a_window
// CHECK:       %[[K:.*]] = sdy.all_gather [{"s"}, {}, {}] %{{.*}} out_sharding=<@g, [{}, {}, {}]> : tensor<4x1x1xf32>
// CHECK:       %[[C:.*]] = stablehlo.convolution(%{{.*}}, %[[K]])
// CHECK:       %[[U:.*]] = sdy.replicated_to_unreduced {"s"} %[[C]] out_sharding=<@g, [{}, {}, {}], unreduced={"s"}>
// CHECK:       sdy.all_reduce {"s"} %[[U]]
func.func @part_of_a_window(%x: tensor<1x8x1xf32>, %k: tensor<4x1x1xf32>) -> tensor<1x2x1xf32> {
  %0 = sdy.all_slice [{"s"}, {}, {}] %k out_sharding=<@g, [{"s"}, {}, {}]> : tensor<4x1x1xf32>
  %1 = stablehlo.convolution(%x, %0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window =
      {stride = [4], pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x1xf32>, tensor<4x1x1xf32>) -> tensor<1x2x1xf32>
  %2 = sdy.all_reduce {"s"} %1 out_sharding=<@g, [{}, {}, {}]> : tensor<1x2x1xf32>
  return %2 : tensor<1x2x1xf32>
}

// A slice that gives a tensor cut otherwise than it takes it is computed whole, though all divides.
// CHECK-LABEL: func.func @cut_anew
// CHECK:       %[[W:.*]] = sdy.all_gather [{"s"}] %arg0 out_sharding=<@g, [{}]> : tensor<8xf32>
// CHECK:       %[[S:.*]] = stablehlo.slice %[[W]] [0:4]
// CHECK:       sdy.all_slice [{"r"}] %[[S]] out_sharding=<@g, [{"r"}]> : tensor<4xf32>
func.func @cut_anew(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@g, [{"s"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) {
  %0 = stablehlo.slice %a [0:4] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
