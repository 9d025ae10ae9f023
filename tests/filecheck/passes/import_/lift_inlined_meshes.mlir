// Every mesh gets one name, and a dictionary for tools that only read StableHLO.
// RUN: sdy-opt %s --sdy-lift-inlined-meshes | filecheck %s

sdy.mesh @grid = <["p"=2, "q"=3]>
sdy.mesh @grid_again = <["p"=2, "q"=3]>
sdy.mesh @mesh = <["p"=6]>
func.func @main(%a: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<mesh<["r"=2]>, [{"r"}, {?}]>},
    %b: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@grid_again, [{"q"}, {}]>})
    -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<mesh<["s"=3], device_ids=[2, 1, 0]>, [{}, {"s"}]>}) {
  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<mesh<["p"=6]>, [{"p"}, {}]>]>} : tensor<6x6xf32>
  %1 = stablehlo.add %0, %b {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[4]>, []>]>} : tensor<6x6xf32>
  %2 = stablehlo.add %1, %b {sdy.sharding = #sdy.sharding_per_value<[<mesh<[]>, [{}, {}]>]>} : tensor<6x6xf32>
  return %2 : tensor<6x6xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @grid = <["p"=2, "q"=3]> {stablehlo.mesh = {axes = [{name = "p", size = 2 : i64}, {name = "q", size = 3 : i64}]}}
// CHECK-NEXT: sdy.mesh @mesh = <["p"=6]> {stablehlo.mesh = {axes = [{name = "p", size = 6 : i64}]}}
// CHECK-NEXT: sdy.mesh @mesh_0 = <["r"=2]> {stablehlo.mesh = {axes = [{name = "r", size = 2 : i64}]}}
// CHECK-NEXT: sdy.mesh @mesh_1 = <["s"=3], device_ids=[2, 1, 0]> {stablehlo.mesh = {axes = [{name = "s", size = 3 : i64}], device_ids = dense<[2, 1, 0]> : tensor<3xi64>}}
// CHECK-NEXT: sdy.mesh @maximal_mesh_4 = <[], device_ids=[4]> {stablehlo.mesh = {axes = [], device_ids = dense<4> : tensor<1xi64>}}
// CHECK-NEXT: sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
// CHECK-NEXT: func.func @main(%arg0: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{"r"}, {?}]>}, %arg1: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@grid, [{"q"}, {}]>}) -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh_1, [{}, {"s"}]>}) {
// CHECK-NEXT: %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"p"}, {}]>]>} : tensor<6x6xf32>
// CHECK-NEXT: %1 = stablehlo.add %0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_4, []>]>} : tensor<6x6xf32>
// CHECK-NEXT: %2 = stablehlo.add %1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@empty_mesh, [{}, {}]>]>} : tensor<6x6xf32>
// CHECK-NEXT: return %2 : tensor<6x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
