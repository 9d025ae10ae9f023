// RUN: sdy-opt %s -stablehlo-legalize-composite-to-call | filecheck %s
// RUN: sdy-opt %s -stablehlo-legalize-composite-to-call='except=my.kept,my.twice' | filecheck %s --check-prefix=KEPT

sdy.mesh @m = <["x"=2]>

func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @main
// KEPT-LABEL: func @main
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = call @twice(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %0
  // KEPT-NEXT:  stablehlo.composite "my.twice" %arg0
  %0 = stablehlo.composite "my.twice" %a {decomposition = @twice, version = 1 : i32,
      sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
