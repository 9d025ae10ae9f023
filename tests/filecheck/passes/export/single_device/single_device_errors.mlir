// Functions deal with whole meshes, and an op runs on one device or on all.
// RUN: sdy-opt %s --sdy-insert-explicit-reshards --split-input-file --verify-diagnostics

sdy.mesh @one = <[], device_ids=[1]>
// expected-error @+1 {{function argument 0 cannot have a single-device (maximal) sharding attribute, on device 1}}
func.func @argument(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  return
}

// -----

sdy.mesh @one = <[], device_ids=[1]>
sdy.mesh @two = <[], device_ids=[2]>
func.func @results(%a: tensor<8xf32>) {
  // expected-error @+1 {{@one and @two}}
  %0:2 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@one, []>, <@two, []>]>}
      : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}
