// Names of meshes become the meshes.
// RUN: sdy-opt %s --sdy-inline-meshes | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4xf32> {
  %0 = sdy.reshard %x <@m, [{"b"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<mesh<["a"=2, "b"=2]>, [{"a"}]>}) -> tensor<4xf32> {
// CHECK-NEXT: %0 = sdy.reshard %arg0 <mesh<["a"=2, "b"=2]>, [{"b"}]> : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
