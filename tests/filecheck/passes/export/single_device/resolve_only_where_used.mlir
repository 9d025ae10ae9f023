// Results that only ops on the same device use, or nothing, are not sent to the other devices.
// RUN: sdy-opt %s -sdy-resolve-single-device-sharding='only-where-used=true' | filecheck %s

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @first = <[], device_ids=[0]>
sdy.mesh @second = <[], device_ids=[1]>

// CHECK-LABEL: func @chain
// CHECK:       %[[OWN:.*]]:2 = "stablehlo.if"
// CHECK-NEXT:    stablehlo.custom_call @read
// CHECK-NOT:   sdy.all_reduce
// CHECK:       %[[RESULT:.*]] = "stablehlo.if"
// CHECK-NEXT:    stablehlo.custom_call @change(%[[OWN]]#0)
// CHECK:       %[[SENT:.*]] = sdy.all_reduce {"x"} %[[RESULT]]
// CHECK-NEXT:  return %[[SENT]]
func.func @chain(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.reshard %a <@first, []> : tensor<4xf32>
  %1:2 = stablehlo.custom_call @read(%0) {has_side_effect = true,
    sdy.sharding = #sdy.sharding_per_value<[<@first, []>, <@first, []>]>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
  %2 = sdy.reshard %1#0 <@mesh, [{}]> : tensor<4xf32>
  %3 = sdy.reshard %2 <@first, []> : tensor<4xf32>
  %4 = stablehlo.custom_call @change(%3) {sdy.sharding = #sdy.sharding_per_value<[<@first, []>]>} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = sdy.reshard %4 <@mesh, [{}]> : tensor<4xf32>
  return %5 : tensor<4xf32>
}

// The second device does not have the result of the first one.
// CHECK-LABEL: func @two_devices
// CHECK:       %[[FIRST:.*]] = "stablehlo.if"
// CHECK:       %[[SENT:.*]] = sdy.all_reduce {"x"} %[[FIRST]]
// CHECK:       "stablehlo.if"
// CHECK-NEXT:    stablehlo.custom_call @change(%[[SENT]])
func.func @two_devices(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.reshard %a <@first, []> : tensor<4xf32>
  %1 = stablehlo.custom_call @read(%0) {sdy.sharding = #sdy.sharding_per_value<[<@first, []>]>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<4xf32>
  %3 = sdy.reshard %2 <@second, []> : tensor<4xf32>
  %4 = stablehlo.custom_call @change(%3) {sdy.sharding = #sdy.sharding_per_value<[<@second, []>]>} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = sdy.reshard %4 <@mesh, [{}]> : tensor<4xf32>
  return %5 : tensor<4xf32>
}
