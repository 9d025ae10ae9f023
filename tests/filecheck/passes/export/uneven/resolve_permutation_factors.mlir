// Shards of neighbours are fetched; a padding value other than zero stands where there is no neighbour.
// RUN: sdy-opt %s --sdy-resolve-permutation-factors | filecheck %s
// RUN: sdy-opt %s --sdy-resolve-permutation-factors=enable-halo-exchange=false | filecheck %s --check-prefix=WHOLE

sdy.mesh @g = <["r"=3]>

// CHECK-LABEL: func.func @pad_by_seven
// CHECK:       %[[M:.*]] = sdy.manual_computation(%{{.*}}, %{{.*}}) in_shardings=[<@g, [{"r"}]>, <@g, []>] out_shardings=[<@g, [{"r"}]>] manual_axes={"r"} (%[[X:.*]]: tensor<2xf32>, %[[V:.*]]: tensor<f32>) {
// CHECK:         %[[P:.*]] = "stablehlo.collective_permute"(%[[X]])
// CHECK-SAME:      dense<{{\[\[}}0, 1], [1, 2]]>
// CHECK:         %[[HAS:.*]] = stablehlo.compare GE
// CHECK:         %[[L:.*]] = stablehlo.select %[[HAS]], %[[P]], %{{.*}}
// CHECK:         stablehlo.concatenate %[[L]], %[[X]], dim = 0
// CHECK:         stablehlo.pad %{{.*}}, %[[V]], low = [3], high = [3], interior = [0]
// CHECK:         stablehlo.dynamic_slice %{{.*}}, sizes = [3]
// CHECK:       stablehlo.slice %[[M]] [0:8]
// WHOLE-LABEL: func.func @pad_by_seven
// WHOLE:       sdy.reshard %arg0 <@g, [{}]>
// WHOLE:       stablehlo.pad {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}]>]>}
// WHOLE:       sdy.reshard %{{.*}} <@g, [{"r"}]> : tensor<8xf32>
func.func @pad_by_seven(%a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<7.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [2], high = [1], interior = [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A slice with a stride is made whole, a rule of the user's is left alone.
// CHECK-LABEL: func.func @others
// CHECK:       sdy.reshard %arg0 <@g, [{}]>
// CHECK:       stablehlo.slice %{{.*}} [0:9:2]
// CHECK:       stablehlo.slice %arg0 [1:6] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>, sdy.sharding_rule
func.func @others(%a: tensor<9xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = stablehlo.slice %a [0:9:2] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>} : (tensor<9xf32>) -> tensor<5xf32>
  %1 = stablehlo.slice %a [1:6] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>,
      sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([j]) {i=9, j=5}, custom>} : (tensor<9xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
