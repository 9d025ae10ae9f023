// What cannot be placed on a mesh is said once, at the first op, with what it comes from.
// RUN: sdy-opt %s --mpmd-import-pipeline='name-to-mesh-assignment=p@ma,q@mb,in@ma' --split-input-file --verify-diagnostics

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @conflict(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  // expected-note @+1 {{a value on ma, from "p"}}
  %0 = mpmd.named_computation<"p"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{a value on mb, from "q"}}
  %2 = mpmd.named_computation<"q"> (%y) (%a: tensor<4xf32>) {
    %1 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{stablehlo.divide cannot be placed on a mesh, as its operands are on different ones}}
  %3 = stablehlo.divide %0, %2 : tensor<4xf32>
  %4 = stablehlo.negate %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @needed_elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  %0 = mpmd.named_computation<"p"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{stablehlo.cosine is needed on mb[q], but can only be placed on ma[p] without a transfer}}
  %2 = stablehlo.cosine %0 : tensor<4xf32>
  // expected-error @+1 {{mpmd.assign is needed on mb[q]}}
  %3 = mpmd.named_computation<"q"> (%2) (%a: tensor<4xf32>) {
    %1 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @without_a_mesh(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  // expected-error @+1 {{named computation "r" is not assigned to a mesh}}
  %0 = mpmd.named_computation<"r"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.abs %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @nested(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  %0 = mpmd.named_computation<"q"> (%x) (%a: tensor<4xf32>) {
    // expected-error @+1 {{in is nested in q, but assigned to another mesh: ma, not mb}}
    %1 = mpmd.named_tensor %a name="in" : tensor<4xf32>
    %2 = stablehlo.abs %1 : tensor<4xf32>
    mpmd.return %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @loop_in_loop(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    // expected-error @+1 {{a loop must not be inside of another loop}}
    %1 = mpmd.for (%a) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%b: tensor<4xf32>, %j: tensor<ui32>) {
      %2 = stablehlo.abs %b : tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}
