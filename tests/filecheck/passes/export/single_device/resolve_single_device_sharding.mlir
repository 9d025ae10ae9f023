// An op that belongs to one device runs in a branch that only this device takes.
// RUN: sdy-opt %s --sdy-insert-explicit-reshards=enable-full-version=true --sdy-resolve-single-device-sharding=replica-count=4 | filecheck %s

sdy.mesh @all = <["r"=4]>
sdy.mesh @third = <[], device_ids=[3]>

// CHECK-LABEL: func.func @main
// CHECK:       %[[R:.*]] = sdy.reshard %arg0 <@all, [{}]>
// CHECK:       stablehlo.replica_id
// CHECK:       stablehlo.constant dense<3> : tensor<i64>
// CHECK:       %[[IF:.*]] = "stablehlo.if"
// CHECK-NEXT:    stablehlo.negate %[[R]] : tensor<8xf32>
// CHECK:         stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK:       sdy.all_reduce {"r"} %[[IF]] out_sharding=<@all, [{}]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@all, [{"r"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@third, []>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
