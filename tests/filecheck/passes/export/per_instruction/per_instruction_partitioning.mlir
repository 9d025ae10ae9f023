// A chosen op runs on shards in a manual computation of its own; padding does not change its result.
// RUN: sdy-opt %s --sdy-per-instruction-partitioning=filter=reduce | filecheck %s
// RUN: sdy-opt %s --sdy-per-instruction-partitioning="filter='selectLow=0, selectHigh=0'" | filecheck %s --check-prefix=FIRST

sdy.mesh @g = <["r"=2]>

// CHECK-LABEL: func.func @main
// CHECK:       stablehlo.negate %arg0 {sdy.sharding
// CHECK:       sdy.manual_computation(%{{.*}}, %{{.*}}) in_shardings=[<@g, [{"r"}]>, <@g, []>] out_shardings=[<@g, []>] manual_axes={"r"} (%[[X:.*]]: tensor<2xi32>
// CHECK:         stablehlo.constant dense<-2147483648>
// CHECK:         stablehlo.select
// CHECK:         stablehlo.reduce
// CHECK:         "stablehlo.all_reduce"
// FIRST:       sdy.manual_computation
// FIRST:         stablehlo.negate
// FIRST-NOT:   sdy.manual_computation
// FIRST:       stablehlo.reduce
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}, %b: tensor<3xi32>) -> (tensor<4xi32>, tensor<i32>) {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}]>]>} : tensor<4xi32>
  %1 = sdy.reshard %b <@g, [{"r"}]> : tensor<3xi32>
  %c = stablehlo.constant dense<-9> : tensor<i32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  return %0, %2 : tensor<4xi32>, tensor<i32>
}
