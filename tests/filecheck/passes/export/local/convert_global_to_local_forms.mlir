// Slices and pads from a table of starts, updates of a window, initial values on one device alone,
// unless they may be combined several times.
// RUN: sdy-opt %s --sdy-convert-global-to-local | filecheck %s

sdy.mesh @m = <["x"=2]>
func.func @slice(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [3:5] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @pad(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %f: tensor<f32>)
    -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.pad %a, %f, low = [2], high = [2], interior = [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
func.func @update(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %u: tensor<3xf32>, %i: tensor<i32>)
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
      : (tensor<8xf32>, tensor<3xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @init(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@m, []> : tensor<f32>
  return %1 : tensor<f32>
}
func.func @largest_of_segments(%a: tensor<4xf32>, %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %u: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%b: tensor<f32>, %c: tensor<f32>):
    %1 = stablehlo.maximum %b, %c : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<4xf32>
  %2 = sdy.all_reduce max {"x"} %0 out_sharding=<@m, [{}]> : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @declared(tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["x"=2]>
// CHECK-NEXT: func.func @slice(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<1xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[3, 0]> : tensor<2xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<2xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %arg0, %3, sizes = [1] : (tensor<4xf32>, tensor<i64>) -> tensor<1xf32>
// CHECK-NEXT: return %4 : tensor<1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @pad(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %arg1: tensor<f32>) -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
// CHECK-NEXT: %0 = stablehlo.pad %arg0, %arg1, low = [2], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<2xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %0, %4, sizes = [6] : (tensor<8xf32>, tensor<i64>) -> tensor<6xf32>
// CHECK-NEXT: return %5 : tensor<6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @update(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %arg1: tensor<3xf32>, %arg2: tensor<i32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<5> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.clamp %c, %arg2, %c_0 : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 4]> : tensor<2xi64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c_1, %3, sizes = [1] : (tensor<2xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %6 = stablehlo.subtract %1, %5 : tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<1> : tensor<i64>
// CHECK-NEXT: %7 = stablehlo.clamp %c_2, %6, %c_3 : tensor<i64>
// CHECK-NEXT: %8 = stablehlo.subtract %7, %6 : tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %arg0, %7, sizes = [3] : (tensor<4xf32>, tensor<i64>) -> tensor<3xf32>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %11 = stablehlo.iota dim = 0 : tensor<3xi64>
// CHECK-NEXT: %12 = stablehlo.add %11, %10 : tensor<3xi64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<0> : tensor<3xi64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<2> : tensor<3xi64>
// CHECK-NEXT: %13 = stablehlo.clamp %c_4, %12, %c_5 : tensor<3xi64>
// CHECK-NEXT: %14 = stablehlo.compare EQ, %12, %13 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi1>) -> tensor<3xi1>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<3> : tensor<i64>
// CHECK-NEXT: %16 = stablehlo.add %8, %c_7 : tensor<i64>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %17 = stablehlo.pad %arg1, %cst, low = [3], high = [3], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<9xf32>
// CHECK-NEXT: %18 = stablehlo.dynamic_slice %17, %16, sizes = [3] : (tensor<9xf32>, tensor<i64>) -> tensor<3xf32>
// CHECK-NEXT: %19 = stablehlo.select %15, %18, %9 : tensor<3xi1>, tensor<3xf32>
// CHECK-NEXT: %20 = stablehlo.dynamic_update_slice %arg0, %19, %7 : (tensor<4xf32>, tensor<3xf32>, tensor<i64>) -> tensor<4xf32>
// CHECK-NEXT: return %20 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @init(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %arg1: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<2xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi1>) -> tensor<i1>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %4 = stablehlo.select %3, %arg1, %cst : tensor<i1>, tensor<f32>
// CHECK-NEXT: %5 = stablehlo.reduce(%arg0 init: %4) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %7 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %7 : tensor<f32>
// CHECK-NEXT: }) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: return %6 : tensor<f32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @largest_of_segments(%arg0: tensor<4xf32>, %arg1: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg2: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<4xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %1 : tensor<4xf32>
// CHECK-NEXT: }
