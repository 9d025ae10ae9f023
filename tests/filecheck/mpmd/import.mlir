// A program with names becomes fragments; what has no name runs where its uses and operands are.
// RUN: sdy-opt %s --mpmd-import-pipeline='name-to-mesh-assignment=enc@ma,cut@mb,dec@mb/1 output-assignment=0@mb' | filecheck %s

// CHECK: module {
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"ma", tensor<4x8xf32>>, %arg1: !mpmd.mesh_tensor<"ma", tensor<8x8xf32>>, %arg2: !mpmd.mesh_tensor<"mb", tensor<8x8xf32>>) -> (!mpmd.mesh_tensor<"mb", tensor<4x8xf32>>, !mpmd.mesh_tensor<"ma", tensor<4x8xf32>>) attributes {topology = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>} {
// CHECK-NEXT:     %0:2 = mpmd.fragment<mesh="ma", origin=["enc"]> (%arg0, %arg1) (%arg3: tensor<4x8xf32>, %arg4: tensor<8x8xf32>) {
// CHECK-NEXT:       %3 = stablehlo.dot %arg3, %arg4 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:       %4 = stablehlo.subtract %3, %arg3 : tensor<4x8xf32>
// CHECK-NEXT:       %5 = stablehlo.multiply %4, %4 : tensor<4x8xf32>
// CHECK-NEXT:       mpmd.return %4, %5 : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"ma", tensor<4x8xf32>>, !mpmd.mesh_tensor<"ma", tensor<8x8xf32>>) -> (!mpmd.mesh_tensor<"ma", tensor<4x8xf32>>, !mpmd.mesh_tensor<"ma", tensor<4x8xf32>>)
// CHECK-NEXT:     %1 = mpmd.transfer %0#0 : (!mpmd.mesh_tensor<"ma", tensor<4x8xf32>>) -> !mpmd.mesh_tensor<"mb", tensor<4x8xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="mb", origin=["dec"], stage=1> (%1, %arg2) (%arg3: tensor<4x8xf32>, %arg4: tensor<8x8xf32>) {
// CHECK-NEXT:       %3 = stablehlo.dot %arg3, %arg4 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:       %cst = stablehlo.constant dense<1.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT:       %4 = stablehlo.add %3, %cst : tensor<4x8xf32>
// CHECK-NEXT:       mpmd.return %4 : tensor<4x8xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"mb", tensor<4x8xf32>>, !mpmd.mesh_tensor<"mb", tensor<8x8xf32>>) -> !mpmd.mesh_tensor<"mb", tensor<4x8xf32>>
// CHECK-NEXT:     return %2, %0#1 : !mpmd.mesh_tensor<"mb", tensor<4x8xf32>>, !mpmd.mesh_tensor<"ma", tensor<4x8xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func public @main(%x: tensor<4x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>)
    attributes {topology = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>} {
  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %h = mpmd.named_computation<"enc"> (%x, %w1, %x) (%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<4x8xf32>) {
    %0 = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.subtract %0, %c : tensor<4x8xf32>
    mpmd.return %1 : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %k = mpmd.named_tensor %h name="cut" : tensor<4x8xf32>
  %y = mpmd.named_computation<"dec"> (%k, %w2) (%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) {
    %0 = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    mpmd.return %0 : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %z = stablehlo.add %y, %one : tensor<4x8xf32>
  %s = stablehlo.multiply %h, %h : tensor<4x8xf32>
  return %z, %s : tensor<4x8xf32>, tensor<4x8xf32>
}
