// Partial values become so, and stop being so, only where an op may do that.
// RUN: sdy-opt %s --sdy-verify-unreduced-axes --split-input-file --verify-diagnostics

sdy.mesh @m = <["a"=2]>
func.func @kept(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) {
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"a"}>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @dropped(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) -> tensor<4xf32> {
  // expected-error @+1 {{stablehlo.negate: axes "a" stop being unreduced, which this op must not do}}
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @resharded_for_the_op(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) -> tensor<4xf32> {
  %0 = sdy.reshard %x <@m, [{}]> : tensor<4xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @largest_instead_of_sum(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}) -> tensor<4x4xf32> {
  // expected-error @+1 {{axes "a" become unreduced by `sum`, but the sharding has `max`}}
  %0 = stablehlo.dot %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}], unreduced=max{"a"}>]>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @returned(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  // expected-error @+1 {{operand 0 and result 0 must be unreduced on the same axes}}
  return %x : tensor<4xf32>
}

// -----

// Each function reports its first error.
sdy.mesh @m = <["a"=2]>
func.func private @returns_partial(%x: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) {
  // expected-error @+1 {{func.return: operand 0 and result 0 must be unreduced on the same axes}}
  return %x : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: result 0 of @returns_partial and of the call must be unreduced on the same axes}}
  %0 = call @returns_partial(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
