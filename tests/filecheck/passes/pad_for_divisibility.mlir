// A dim is padded where it becomes cut, keeps its padding while it is, and loses it where it is whole again.
// RUN: sdy-opt %s --sdy-pad-for-divisibility | filecheck %s

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
