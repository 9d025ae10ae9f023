// Equal constants merge and go to the front, leading ones stay; dead ops go, chains of reshards collapse.
// RUN: sdy-opt %s --canonicalize=enable-patterns=sdy-reshard | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  %2 = stablehlo.constant dense<2.0> : tensor<4xf32>
  %3 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %dead = stablehlo.abs %3 : tensor<4xf32>
  %4 = stablehlo.add %1, %2 : tensor<4xf32>
  %5 = stablehlo.add %4, %3 : tensor<4xf32>
  %6 = sdy.reshard %5 <@m, [{"a"}]> : tensor<4xf32>
  %7 = sdy.reshard %6 <@m, [{"b"}]> : tensor<4xf32>
  return %7 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %0 = stablehlo.add %arg0, %cst_0 : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.add %0, %cst : tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.add %1, %cst_0 : tensor<4xf32>
// CHECK-NEXT: %3 = sdy.reshard %2 <@m, [{"b"}]> : tensor<4xf32>
// CHECK-NEXT: return %3 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
