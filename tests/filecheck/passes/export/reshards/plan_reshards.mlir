// Every reshard becomes the collectives that move the fewest bytes.
// RUN: sdy-opt %s --sdy-plan-reshards | filecheck %s

sdy.mesh @g = <["p"=2, "q"=4, "r"=2, "s"=2]>
sdy.mesh @turned = <["p"=2, "q"=4, "r"=2, "s"=2],
    device_ids=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
    28, 29, 31, 30]>
sdy.mesh @z = <["k"=16]>

// What arrives in front of another cut: the dim is split there. The second reshard is the first one again.
func.func @split(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = sdy.reshard %x <@g, [{}, {"p", "q"}]> : tensor<64x64xf32>
  %1 = sdy.reshard %x <@g, [{}, {"p", "q"}]> : tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// What is the same needs nothing; between meshes with other axes a reshard stays.
func.func @kept(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = sdy.reshard %x <@g, [{"p", ?}, {}]> : tensor<64x64xf32>
  %1 = sdy.reshard %x <@z, [{"k"}, {}]> : tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// In a branch, what was done before it counts, and what was done in another branch does not.
func.func @branches(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}, %c: tensor<i1>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = sdy.reshard %x <@g, [{"r"}, {}]> : tensor<64x64xf32>
  %1:2 = "stablehlo.if"(%c) ({
    %2 = sdy.reshard %x <@g, [{"r"}, {}]> : tensor<64x64xf32>
    %3 = sdy.reshard %x <@g, [{}, {"p"}]> : tensor<64x64xf32>
    stablehlo.return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
  }, {
    %2 = sdy.reshard %x <@g, [{"r"}, {}]> : tensor<64x64xf32>
    %3 = sdy.reshard %x <@g, [{}, {"p"}]> : tensor<64x64xf32>
    stablehlo.return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
  }) : (tensor<i1>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  return %1#0, %1#1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// To another order of devices by one permute, of the smallest tiles.
func.func @order(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"s"}, {}]>}) -> tensor<64x64xf32> {
  %0 = sdy.reshard %x <@turned, [{"s"}, {"r"}]> : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// Idle axes help; not those that an enclosing computation has taken, be it around the caller.
func.func @helped(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}, {"p", "s"}]>}) -> tensor<64x64xf32> {
  %0 = sdy.reshard %x <@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func private @called(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}, {"p", "s"}]>}) -> tensor<64x64xf32> {
  %0 = sdy.reshard %x <@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func @taken(%x: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"q", "r"}, {"p", "s"}]>}) -> tensor<256x64xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@g, [{"q", "r"}, {"p", "s"}]>]
      out_shardings=[<@g, [{"q", "p", "r"}, {"s"}]>] manual_axes={"q"} (%y: tensor<64x64xf32>) {
    %1 = func.call @called(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = sdy.reshard %y <@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
    sdy.return %2 : tensor<64x64xf32>
  } : (tensor<256x64xf32>) -> tensor<256x64xf32>
  return %0 : tensor<256x64xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @g = <["p"=2, "q"=4, "r"=2, "s"=2]>
// CHECK-NEXT: sdy.mesh @turned = <["p"=2, "q"=4, "r"=2, "s"=2], device_ids=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31, 30]>
// CHECK-NEXT: sdy.mesh @z = <["k"=16]>
// CHECK-NEXT: func.func @split(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"p"}, {}, {}]>]>} : (tensor<64x64xf32>) -> tensor<64x2x32xf32>
// CHECK-NEXT: %1 = sdy.all_slice [{}, {}, {"q"}] %0 out_sharding=<@g, [{"p"}, {}, {"q"}]> : tensor<64x2x32xf32>
// CHECK-NEXT: %2 = sdy.all_to_all [{"p"}: 0->1] %1 out_sharding=<@g, [{}, {"p"}, {"q"}]> : tensor<64x2x32xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %2 {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"p", "q"}]>]>} : (tensor<64x2x32xf32>) -> tensor<64x64xf32>
// CHECK-NEXT: return %3, %3 : tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @kept(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
// CHECK-NEXT: %0 = sdy.reshard %arg0 <@z, [{"k"}, {}]> : tensor<64x64xf32>
// CHECK-NEXT: return %arg0, %0 : tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @branches(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {}]>}, %arg1: tensor<i1>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
// CHECK-NEXT: %0 = sdy.collective_permute %arg0 out_sharding=<@g, [{"r"}, {}]> : tensor<64x64xf32>
// CHECK-NEXT: %1:2 = "stablehlo.if"(%arg1) ({
// CHECK-NEXT: %2 = sdy.all_to_all [{"p"}: 0->1] %arg0 out_sharding=<@g, [{}, {"p"}]> : tensor<64x64xf32>
// CHECK-NEXT: stablehlo.return %0, %2 : tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }, {
// CHECK-NEXT: %2 = sdy.all_to_all [{"p"}: 0->1] %arg0 out_sharding=<@g, [{}, {"p"}]> : tensor<64x64xf32>
// CHECK-NEXT: stablehlo.return %0, %2 : tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }) : (tensor<i1>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK-NEXT: return %1#0, %1#1 : tensor<64x64xf32>, tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @order(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"s"}, {}]>}) -> tensor<64x64xf32> {
// CHECK-NEXT: %0 = sdy.all_slice [{}, {"r"}] %arg0 out_sharding=<@g, [{"s"}, {"r"}]> : tensor<64x64xf32>
// CHECK-NEXT: %1 = sdy.collective_permute %0 out_sharding=<@turned, [{"s"}, {"r"}]> : tensor<64x64xf32>
// CHECK-NEXT: return %1 : tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @helped(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}, {"p", "s"}]>}) -> tensor<64x64xf32> {
// CHECK-NEXT: %0 = sdy.all_slice [{"q":(1)2}, {}] %arg0 out_sharding=<@g, [{"r", "q":(1)2}, {"p", "s"}]> : tensor<64x64xf32>
// CHECK-NEXT: %1 = sdy.collective_permute %0 out_sharding=<@g, [{"p", "r"}, {"s", "q":(1)2}]> : tensor<64x64xf32>
// CHECK-NEXT: %2 = sdy.all_gather [{}, {"q":(1)2}] %1 out_sharding=<@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
// CHECK-NEXT: return %2 : tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @called(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"r"}, {"p", "s"}]>}) -> tensor<64x64xf32> {
// CHECK-NEXT: %0 = sdy.collective_permute %arg0 out_sharding=<@g, [{"p"}, {"s", "r"}]> : tensor<64x64xf32>
// CHECK-NEXT: %1 = sdy.all_to_all [{"r"}: 1->0] %0 out_sharding=<@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
// CHECK-NEXT: return %1 : tensor<64x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @taken(%arg0: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"q", "r"}, {"p", "s"}]>}) -> tensor<256x64xf32> {
// CHECK-NEXT: %0 = sdy.manual_computation(%arg0) in_shardings=[<@g, [{"q", "r"}, {"p", "s"}]>] out_shardings=[<@g, [{"q", "p", "r"}, {"s"}]>] manual_axes={"q"} (%arg1: tensor<64x64xf32>) {
// CHECK-NEXT: %1 = func.call @called(%arg1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK-NEXT: %2 = sdy.collective_permute %arg1 out_sharding=<@g, [{"p"}, {"s", "r"}]> : tensor<64x64xf32>
// CHECK-NEXT: %3 = sdy.all_to_all [{"r"}: 1->0] %2 out_sharding=<@g, [{"p", "r"}, {"s"}]> : tensor<64x64xf32>
// CHECK-NEXT: sdy.return %3 : tensor<64x64xf32>
// CHECK-NEXT: } : (tensor<256x64xf32>) -> tensor<256x64xf32>
// CHECK-NEXT: return %0 : tensor<256x64xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
