// RUN: sdy-opt %s -sdy-optimize-communication='recut=false' | filecheck %s
// RUN: sdy-opt %s -sdy-optimize-communication='recut=false share=false' | filecheck %s --check-prefix=OFF

// Devices along "y" hold the same partial sums: each reduces half of them.

sdy.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func @shared
// CHECK:         %[[PARTIAL:.*]] = stablehlo.dot_general
// CHECK:         %[[HALF:.*]] = sdy.all_slice [{"y"}, {}] %[[PARTIAL]]
// CHECK:         %[[SUM:.*]] = sdy.all_reduce {"x"} %[[HALF]]
// CHECK:         sdy.reshard %[[SUM]] <@mesh, [{}, {}]>
// OFF-LABEL:   func @shared
// OFF-NOT:       sdy.all_slice
// OFF:           sdy.all_reduce {"x"}
func.func @shared(
    %arg0: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x8xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
