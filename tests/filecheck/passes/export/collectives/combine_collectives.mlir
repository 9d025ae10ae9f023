// RUN: sdy-opt %s -sdy-combine-collectives | filecheck %s
// RUN: sdy-opt %s -sdy-combine-collectives='most-bytes=47' | filecheck %s --check-prefix=SMALL

// A user waits until the last operand is there. The channel is that of the first collective. The large constant is why
// there is memory for both operands at once.

// CHECK-LABEL: func @sums
// CHECK:         %[[LATER:.*]] = stablehlo.multiply %arg1, %arg1
// CHECK-NEXT:    %[[SUMS:.*]]:2 = "stablehlo.all_reduce"(%arg0, %[[LATER]])
// CHECK-SAME:      handle = 3, type = 1
// CHECK:         (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>)
// CHECK-NEXT:    %[[USER:.*]] = stablehlo.negate %[[SUMS]]#0
// CHECK:         return %[[USER]], %[[SUMS]]#1
// SMALL-LABEL: func @sums
// SMALL:         "stablehlo.all_reduce"(%arg0)
// SMALL:         stablehlo.negate
// SMALL:         "stablehlo.all_reduce"
func.func @sums(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  %cst = stablehlo.constant dense<1.0> : tensor<64xf32>
  %2 = stablehlo.multiply %arg1, %arg1 : tensor<4xf32>
  %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<8xf32>, tensor<4xf32>
}

// Gathers of any element types meet, right before the first use of what they give; those along another dim do not.

// CHECK-LABEL: func @gathers
// CHECK:         stablehlo.negate
// CHECK:         stablehlo.negate
// CHECK-NEXT:    %[[GATHERED:.*]]:2 = "stablehlo.all_gather"(%arg0, %arg1) <{all_gather_dim = 0 : i64, replica_groups = {{.*}}}> : (tensor<2x2xf32>, tensor<1x2xi8>) -> (tensor<4x2xf32>, tensor<2x2xi8>)
// CHECK-NEXT:    stablehlo.tanh %[[GATHERED]]#0
// CHECK:         "stablehlo.all_gather"({{.*}}) <{all_gather_dim = 1 : i64
func.func @gathers(%arg0: tensor<2x2xf32>, %arg1: tensor<1x2xi8>) -> (tensor<4x2xf32>, tensor<2x2xi8>, tensor<64xf32>, tensor<2x4xf32>) {
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<1x2xi8>) -> tensor<2x2xi8>
  %cst = stablehlo.constant dense<1.0> : tensor<64xf32>
  %2 = stablehlo.negate %cst : tensor<64xf32>
  %3 = stablehlo.negate %2 : tensor<64xf32>
  %4 = stablehlo.tanh %0 : tensor<4x2xf32>
  %5 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return %4, %1, %3, %5 : tensor<4x2xf32>, tensor<2x2xi8>, tensor<64xf32>, tensor<2x4xf32>
}

// Both operands and results at once would be more bytes than the function ever holds.

// CHECK-LABEL: func @no_memory
// CHECK:         "stablehlo.all_gather"(%arg0)
// CHECK:         "stablehlo.all_gather"(%arg1)
func.func @no_memory(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<f32> {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<8xf32>) -> tensor<16xf32>
  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  %2 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<8xf32>) -> tensor<16xf32>
  %3 = stablehlo.reduce(%2 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
