// RUN: sdy-run %s --trace 2>&1 | filecheck %s --check-prefix=TRACE
// RUN: sdy-run %s --devices-table --interpreter-print-dense | filecheck %s --check-prefix=DEVICES

// Standard output comes first here, then the trace on standard error.
// TRACE:      tensor<3xi32> {
// TRACE:      sdy_run_trace_and_devices.mlir:[[# @LINE + 11]]: %c = stablehlo.constant tensor<3xi32> {{[0-9a-f]+}}
// TRACE-NEXT: sdy_run_trace_and_devices.mlir:[[# @LINE + 11]]: %0 = stablehlo.iota tensor<4x3xi32> {{[0-9a-f]+}}
// TRACE-NEXT: sdy_run_trace_and_devices.mlir:[[# @LINE + 13]]: %2 = stablehlo.add tensor<2x1xi32> {{[0-9a-f]+}} on 6 devices
// TRACE-NEXT: sdy_run_trace_and_devices.mlir:[[# @LINE + 10]]: %1 = sdy.manual_computation tensor<4x3xi32> {{[0-9a-f]+}}
// TRACE-NOT:  stablehlo.return

sdy.mesh @m = <["x"=2, "y"=3]>
func.func @main() -> (
    tensor<3xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
    tensor<4x3xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>},
    tensor<i32>) {
  %numbers = stablehlo.constant dense<[7, 8, 9]> : tensor<3xi32>
  %rows = stablehlo.iota dim = 0 : tensor<4x3xi32>
  %twice = sdy.manual_computation(%rows) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"x"}, {"y"}]>]
      manual_axes={"x", "y"} (%row: tensor<2x1xi32>) {
    %sum = stablehlo.add %row, %row : tensor<2x1xi32>
    sdy.return %sum : tensor<2x1xi32>
  } : (tensor<4x3xi32>) -> tensor<4x3xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  return %numbers, %twice, %one : tensor<3xi32>, tensor<4x3xi32>, tensor<i32>
}

// If the dim is not divisible by the axis, the last device holds a smaller shard, or none.
// DEVICES: dense<[7, 8, 9]> : tensor<3xi32>
// DEVICES: device {{.*}} coordinates {{.*}} result 0 {{.*}} result 1 {{.*}} result 2
// DEVICES: 0 {{.*}} x=0 y=0 {{.*}} [0:2] [7, 8]
// DEVICES: 5 {{.*}} x=1 y=2 {{.*}} [2:3] [9]
