// Axes of size 1 are removed; a closed dim without axes loses its priority, an open one keeps it.
// RUN: sdy-opt %s --sdy-remove-size-one-axes | filecheck %s

sdy.mesh @m = <["u"=1, "v"=4, "w"=1]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"u", "v"}p1, {"w"}p2]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"w", ?}p3, {}], replicated={"v"}, unreduced={"u"}>}) {
  return %a : tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["u"=1, "v"=4, "w"=1]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"v"}p1, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}p3, {}], replicated={"v"}>}) {
// CHECK-NEXT: return %arg0 : tensor<8x8xf32>
// CHECK-NEXT: }

// Sub-axes that become adjacent are merged.
sdy.mesh @n = <["u"=1, "v"=6]>
func.func @apart(%a: tensor<24xf32> {sdy.sharding = #sdy.sharding<@n, [{"v":(1)3, "u", "v":(3)2}]>}) -> tensor<24xf32> {
  return %a : tensor<24xf32>
}

// CHECK: func.func @apart(%arg0: tensor<24xf32> {sdy.sharding = #sdy.sharding<@n, [{"v"}]>})
