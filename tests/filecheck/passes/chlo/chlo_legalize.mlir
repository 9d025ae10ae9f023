// RUN: sdy-opt %s -chlo-legalize-to-stablehlo -canonicalize | filecheck %s

// CHECK-LABEL: func @simple
func.func @simple(%a: tensor<4xf32>, %b: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>, tensor<4xf32>) {
  // CHECK-DAG:  %[[C:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK:      %[[SQUARE:.*]] = stablehlo.multiply %arg0, %arg0
  // CHECK:      %[[WIDE:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[WIDE]], %arg1
  // CHECK-NEXT: return %[[SQUARE]], %[[SUM]], %[[C]]
  %0 = chlo.square %a : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "chlo.constant_like"(%a) {value = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<2x4xf32>, tensor<4xf32>
}

// A function of narrow floats is computed in wide ones.
// CHECK-LABEL: func @wide
func.func @wide(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK:      %[[WIDE:.*]] = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf64>
  // CHECK-NEXT: %[[ARC:.*]] = stablehlo.atan2 %[[WIDE]], %{{.*}} : tensor<4xf64>
  // CHECK-NEXT: %[[NARROW:.*]] = stablehlo.convert %[[ARC]] : (tensor<4xf64>) -> tensor<4xbf16>
  // CHECK-NEXT: return %[[NARROW]]
  %0 = chlo.atan %a : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func @largest
func.func @largest(%a: tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
  // CHECK:      %[[PLACES:.*]] = stablehlo.iota dim = 0 : tensor<8xi32>
  // CHECK:      %[[SORTED:.*]]:2 = "stablehlo.sort"(%arg0, %[[PLACES]])
  // CHECK:        stablehlo.compare GT, %{{.*}}, %{{.*}}, TOTALORDER
  // CHECK:      stablehlo.slice %[[SORTED]]#0 [0:3]
  // CHECK:      stablehlo.slice %[[SORTED]]#1 [0:3]
  %values, %indices = chlo.top_k(%a, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)
  return %values, %indices : tensor<3xf32>, tensor<3xi32>
}
