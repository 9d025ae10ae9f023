// RUN: sdy-opt %s --sdy-aggressive-propagate | filecheck %s

sdy.mesh @m = <["x"=4, "y"=1]>
sdy.mesh @same = <["x"=4, "y"=1]>

// Without data-flow edges, the results of an op share one list of shardings: the first update sets the mesh of all.
// CHECK-LABEL: func.func @main
// CHECK:         stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x", ?}]>, <@m, [{?}]>, <@m, [{?}, {"x", ?}]>]>}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<2x6xf32>)
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>},
        tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@same, [{?}, {"x", ?}]>}) {
  %0:3 = stablehlo.optimization_barrier %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<2x6xf32>
  return %0#0, %0#2 : tensor<4xf32>, tensor<2x6xf32>
}
