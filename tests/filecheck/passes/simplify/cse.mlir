// RUN: sdy-opt %s -cse | filecheck %s

sdy.mesh @m = <["x"=2]>

// Equal ops meet, also in a region; an op that differs in its sharding stays apart.
// CHECK-LABEL: func @meet
func.func @meet(%a: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      %[[FIRST:.*]] = stablehlo.negate %arg0 : tensor<4xf32>
  // CHECK-NEXT: %[[CUT:.*]] = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
  // CHECK-NEXT: stablehlo.add %[[FIRST]], %[[CUT]]
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<4xf32>
  %2 = stablehlo.negate %a : tensor<4xf32>
  %3 = stablehlo.add %2, %1 : tensor<4xf32>
  %4 = "stablehlo.if"(%p) ({
    // CHECK:      }, {
    // CHECK-NEXT:   stablehlo.return %[[FIRST]]
    %5 = stablehlo.add %0, %a : tensor<4xf32>
    stablehlo.return %5 : tensor<4xf32>
  }, {
    %5 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %5 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// Ops with equal regions meet too.
// CHECK-LABEL: func @with_regions
func.func @with_regions(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK:      %[[IF:.*]] = "stablehlo.if"
  // CHECK-NOT:  stablehlo.if
  // CHECK:      stablehlo.add %[[IF]], %[[IF]]
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    %3 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    %3 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// What has an effect stays; what is dead and has none goes.
// CHECK-LABEL: func @effects
func.func @effects(%a: tensor<4xf32>) {
  // CHECK-NEXT: stablehlo.custom_call @effect(%arg0) {has_side_effect = true}
  // CHECK-NEXT: stablehlo.custom_call @effect(%arg0) {has_side_effect = true}
  // CHECK-NEXT: return
  %0 = stablehlo.custom_call @effect(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @effect(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.negate %a : tensor<4xf32>
  return
}
