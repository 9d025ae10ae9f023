// RUN: sdy-opt %s -split-input-file -verify-diagnostics

// The codes of all rules are tested one by one in tests/unit/dialects/sdy; here, that they come with their notes.

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
  // expected-note @+1 {{manual on the axis already}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%arg1: tensor<4xf32>) {
    // expected-error @+1 {{the axis "a" is manual in an enclosing computation}}
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

// expected-note @+1 {{the tensor comes from here}}
func.func @another_mesh(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  // expected-error @+1 {{the tensor is on @m, the result on @n}}
  %0 = sdy.all_gather [{"a"}] %arg0 out_sharding=<@n, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @edge_of_nothing(%arg0: tensor<8xf32>) {
  // expected-note @+1 {{sdy.reshard has no data flow edges}}
  %0 = sdy.reshard %arg0 <@m, [{}]> : tensor<8xf32>
  // expected-error @+1 {{an edge on the result of sdy.reshard}}
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  return
}

// -----

// expected-note @+1 {{the first one is here}}
sdy.mesh @m = <["a"=2, "b"=2]>
// expected-error @+1 {{a second symbol @m}}
sdy.mesh @m = <["a"=2, "b"=2]>
