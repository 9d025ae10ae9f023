// RUN: sdy-opt %s -split-input-file -verify-diagnostics

// Tests the notes of errors. The codes of all rules are tested in tests/unit/dialects/verification.

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @inner_sharding_on_a_manual_axis(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @+1 {{the axis is manual here}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<4xf32>) {
    // expected-error @+1 {{axis "a" is a manual axis}}
    %1 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @manual_twice(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @+1 {{the enclosing computation is here}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<4xf32>) {
    // expected-error @+1 {{axis "a" is already manual in an enclosing computation}}
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{}]>] manual_axes={"a"} (%arg2: tensor<4xf32>) {
      sdy.return %arg2 : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>
sdy.mesh @n = <["a"=4]>

// expected-note @+1 {{the operand is defined here}}
func.func @another_mesh(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  // expected-error @+1 {{operand and result must be on the same mesh, got @m and @n}}
  %0 = sdy.all_gather [{"a"}] %arg0 out_sharding=<@n, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @edge_of_nothing(%arg0: tensor<8xf32>) {
  // expected-note @+1 {{sdy.reshard has no data flow edges}}
  %0 = sdy.reshard %arg0 <@m, [{}]> : tensor<8xf32>
  // expected-error @+1 {{the operand must be a result of an op with data flow edges, got sdy.reshard}}
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  return
}

// -----

// expected-note @+1 {{the first definition is here}}
sdy.mesh @m = <["a"=2, "b"=2]>
// expected-error @+1 {{redefinition of symbol @m}}
sdy.mesh @m = <["a"=2, "b"=2]>

// -----

sdy.mesh @m = <["a"=2]>

func.func @value_from_outside(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @+1 {{the region of this sdy.manual_computation is isolated}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{}]>] manual_axes={} (%arg1: tensor<8xf32>) {
    // expected-error @+1 {{%arg0 is defined outside of sdy.manual_computation, which is isolated from above}}
    %1 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
