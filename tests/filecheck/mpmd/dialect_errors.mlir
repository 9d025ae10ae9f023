// What does not fit the topology or the types is said, at the op.
// RUN: sdy-opt %s --split-input-file --verify-diagnostics

#one = #mpmd.topology<<"m1" : <["x"=2]>>>
!far = !mpmd.mesh_tensor<"m9", tensor<4xf32>>
func.func @unknown_mesh(%a: !far) -> !far attributes {topology = #one} {
  // expected-error @+1 {{the topology has no mesh with name m9}}
  %0 = mpmd.transfer %a : (!far) -> !far
  return %0 : !far
}

// -----

!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @no_topology(%a: !t) -> !t {
  // expected-error @+1 {{function @no_topology has no topology, in which to look up mesh m1}}
  %0 = mpmd.transfer %a : (!t) -> !t
  return %0 : !t
}

// -----

#one = #mpmd.topology<<"m1" : <["x"=4]>>>
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!uneven = !mpmd.mesh_tensor<"m1", tensor<6xf32>, sharding=<@m, [{"x"}]>>
func.func @does_not_divide(%a: !uneven) -> !uneven attributes {topology = #one} {
  // expected-error @+1 {{dim 0 of size 6 is not divisible into 4 shards}}
  %0 = mpmd.transfer %a : (!uneven) -> !uneven
  return %0 : !uneven
}

// -----

#two = #mpmd.topology<<"m1" : <["x"=2]>>, <"m2" : <["x"=2]>>>
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!u = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @other_mesh(%a: !u) -> !t attributes {topology = #two} {
  // expected-error @+1 {{operand 0 must be on the mesh of the op, m1, got m2}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: tensor<4xf32>) {
    mpmd.return %x : tensor<4xf32>
  } : (!u) -> !t
  return %0 : !t
}

// -----

#one = #mpmd.topology<<"m1" : <["x"=2]>>>
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @missing_argument(%a: !t) -> !t attributes {topology = #one} {
  // expected-error @+1 {{expected 1 argument, one per operand, got 0}}
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%a) () {
    %1 = stablehlo.constant dense<1.0> : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %0 : !t
}

// -----

func.func @uneven_loop(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the number of iterations, 3, must be divisible by unroll_factor, 2}}
  %0 = mpmd.for (%a) {iterations = 3 : ui32, unroll_factor = 2 : ui32} (%x: tensor<4xf32>, %i: tensor<ui32>) {
    mpmd.return %x : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @several_operands(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a reduction of kind none must have 1 operand, got 2}}
  %0 = mpmd.reduce<none> %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{function @g is not defined}}
  %0 = mpmd.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{the call is here}}
  %0 = mpmd.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @+1 {{@f must be called with 2 operands, got 1}}
func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

#one = #mpmd.topology<<"m1" : <["x"=2]>>>
!t = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @main(%a: !t) -> !t attributes {topology = #one} {
  // expected-error @+1 {{@compiled must run on the mesh m1, <["x"=2]>, got <["x"=8]>}}
  %0 = mpmd.fragment_call<mesh="m1", origin=["f"]> @compiled(%a) : (!t) -> !t
  return %0 : !t
}
func.func @compiled(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=8]>} {
  return %a : tensor<4xf32>
}
