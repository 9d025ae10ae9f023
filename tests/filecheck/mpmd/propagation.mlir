// Shardings pass through fragments and transfers, and end up in types; the side that holds fewer elements is sent.
// RUN: sdy-opt %s --mpmd-sharding-propagation-pipeline --mlir-diagnostic-verbosity-level=errors | filecheck %s

// CHECK: module {
// CHECK-NEXT:   sdy.mesh @m = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>, %arg1: !mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"y"}, {}]>>) -> (!mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"y"}, {}]>>, !mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>) attributes {topology = #mpmd.topology<<"a" : <["x"=2, "y"=2]>>, <"b" : <["x"=2, "y"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="a", origin=["f"]> (%arg0) (%arg2: tensor<8x8xf32>) {
// CHECK-NEXT:       %4 = stablehlo.tanh %arg2 : tensor<8x8xf32>
// CHECK-NEXT:       mpmd.return %4 : tensor<8x8xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>
// CHECK-NEXT:     %1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="b", origin=["g"]> (%1, %arg1) (%arg2: tensor<8x8xf32>, %arg3: tensor<8x8xf32>) {
// CHECK-NEXT:       %4 = stablehlo.add %arg2, %arg3 : tensor<8x8xf32>
// CHECK-NEXT:       mpmd.return %4 : tensor<8x8xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>, !mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"y"}, {}]>>) -> !mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"y"}, {}]>>
// CHECK-NEXT:     %3 = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>) -> !mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>
// CHECK-NEXT:     return %2, %3 : !mpmd.mesh_tensor<"b", tensor<8x8xf32>, sharding=<@m, [{"y"}, {}]>>, !mpmd.mesh_tensor<"a", tensor<8x8xf32>, sharding=<@m, [{"x"}, {}]>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
sdy.mesh @m = <["x"=2, "y"=2]>
!a = !mpmd.mesh_tensor<"a", tensor<8x8xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<8x8xf32>>
func.func public @main(%x: !a {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                       %w: !b {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> (!b, !a)
    attributes {topology = #mpmd.topology<<"a" : <["x"=2, "y"=2]>>, <"b" : <["x"=2, "y"=2]>>>} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x) (%p: tensor<8x8xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %2 = stablehlo.add %p, %1 : tensor<8x8xf32>
    %3 = stablehlo.tanh %2 : tensor<8x8xf32>
    mpmd.return %3 : tensor<8x8xf32>
  } : (!a) -> !a
  %4 = mpmd.transfer %0 : (!a) -> !b
  %5 = mpmd.fragment<mesh="b", origin=["g"]> (%4, %w) (%p: tensor<8x8xf32>, %q: tensor<8x8xf32>) {
    %6 = stablehlo.add %p, %q : tensor<8x8xf32>
    mpmd.return %6 : tensor<8x8xf32>
  } : (!b, !b) -> !b
  return %5, %x : !b, !a
}
