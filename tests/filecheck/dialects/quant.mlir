// RUN: sdy-opt %s | sdy-opt - | filecheck %s

// CHECK-LABEL: func @types
func.func @types(
    // CHECK-SAME: %arg0: tensor<4x!quant.uniform<i8:f32, 2.000000e-01:15>>
    %a: tensor<4x!quant.uniform<i8:f32, 0.2:15>>,
    // CHECK-SAME: %arg1: tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {1.000000e-01,2.000000e-01:3,5.000000e-01}>>
    %b: tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {0.1, 0.2:3, 5.0e-1:0}>>,
    // CHECK-SAME: %arg2: tensor<!quant.uniform<i4:bf16, 1.000000e+00:-3>>
    %c: tensor<!quant.uniform<i4<-8:7>:bf16, 1.0:-3>>) -> tensor<4xf32> {
  // CHECK: %[[FLOATS:.*]] = stablehlo.uniform_dequantize %arg0 : (tensor<4x!quant.uniform<i8:f32, 2.000000e-01:15>>) -> tensor<4xf32>
  %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<i8:f32, 0.2:15>>) -> tensor<4xf32>
  // CHECK: stablehlo.uniform_quantize %[[FLOATS]] : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 2.000000e-01:15>>
  %1 = stablehlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.2:15>>
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4x!quant.uniform<i8:f32, 2.000000e-01:15>>
  %2 = stablehlo.add %a, %1 : tensor<4x!quant.uniform<i8:f32, 0.2:15>>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @constants
func.func @constants() {
  // CHECK-NEXT: stablehlo.constant() <{value = dense<[1, 512]> : tensor<2xi32>}> : () -> tensor<2x!quant.uniform<i32:f32, 2.000000e+00:15>>
  %0 = stablehlo.constant() {value = dense<[1, 512]> : tensor<2xi32>} : () -> tensor<2x!quant.uniform<i32:f32, 2.0:15>>
  // CHECK-NEXT: stablehlo.constant dense<[1, 512]> : tensor<2xi32>
  %1 = stablehlo.constant() {value = dense<[1, 512]> : tensor<2xi32>} : () -> tensor<2xi32>
  return
}

// CHECK-LABEL: func @different_scales
func.func @different_scales(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i8:f32, 2.0:3>>) {
  // CHECK-NEXT: stablehlo.add %arg0, %arg1 : (tensor<2x!quant.uniform<i8:f32, 1.000000e+00>>, tensor<2x!quant.uniform<i8:f32, 2.000000e+00:3>>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:3>>
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i8:f32, 2.0:3>>)
      -> tensor<2x!quant.uniform<i8:f32, 2.0:3>>
  return
}
