// Slice, permute, move, gather: smallest shards first. Between meshes with other axes a reshard stays.
// RUN: sdy-opt %s --sdy-reshard-to-collectives | filecheck %s

sdy.mesh @g = <["p"=2, "q"=4, "r"=2, "s"=2]>
sdy.mesh @z = <["k"=16]>
func.func @main(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"s", "q"}, {}]>})
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = sdy.reshard %x <@g, [{}, {"s", "p"}]> : tensor<64x64xf32>
  %1 = sdy.reshard %x <@g, [{"s", "q", ?}, {}]> : tensor<64x64xf32>
  %2 = sdy.reshard %x <@z, [{"k"}, {}]> : tensor<64x64xf32>
  return %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
// Of six devices, the first half and the parity belong to different splits: no tensor is cut by both.
sdy.mesh @six = <["u"=6, "v"=2]>
func.func @two_splits(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@six, [{"u":(1)2}]>}) -> tensor<8xf32> {
  %0 = sdy.reshard %x <@six, [{"u":(3)2, "v"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @g = <["p"=2, "q"=4, "r"=2, "s"=2]>
// CHECK-NEXT: sdy.mesh @z = <["k"=16]>
// CHECK-NEXT: func.func @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"s", "q"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
// CHECK-NEXT: %0 = sdy.all_slice [{}, {"p"}] %arg0 out_sharding=<@g, [{"s", "q"}, {"p"}]> : tensor<64x64xf32>
// CHECK-NEXT: %1 = sdy.collective_permute %0 out_sharding=<@g, [{"q", "p"}, {"s"}]> : tensor<64x64xf32>
// CHECK-NEXT: %2 = sdy.all_to_all [{"p"}: 0->1] %1 out_sharding=<@g, [{"q"}, {"s", "p"}]> : tensor<64x64xf32>
// CHECK-NEXT: %3 = sdy.all_gather [{"q"}, {}] %2 out_sharding=<@g, [{}, {"s", "p"}]> : tensor<64x64xf32>
// CHECK-NEXT: %4 = sdy.reshard %arg0 <@z, [{"k"}, {}]> : tensor<64x64xf32>
// CHECK-NEXT: return %3, %arg0, %4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK: func.func @two_splits
// CHECK-NEXT: %0 = sdy.all_gather [{"u":(1)2}] %arg0 out_sharding=<@six, [{}]> : tensor<8xf32>
// CHECK-NEXT: %1 = sdy.all_slice [{"u":(3)2, "v"}] %0 out_sharding=<@six, [{"u":(3)2, "v"}]> : tensor<8xf32>
// CHECK-NEXT: return %1 : tensor<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
