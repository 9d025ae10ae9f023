// Outputs that are on several meshes at once cannot be placed. A single error does not stop the pass, as in Shardy.
// RUN: sdy-opt %s --mpmd-infer-mesh-assign-mesh-func-leaves='error-limit=1' --split-input-file --verify-diagnostics

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @output(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #two} {
  %0 = stablehlo.abs %x {mpmd.src_set = #mpmd.meshes_with_origins<>} : tensor<4xf32>
  // expected-error @+1 {{output 0 cannot be placed on a mesh}}
  return %0 : tensor<4xf32>
}

// -----

#two = #mpmd.topology<<"ma" : <["x"=2]>>, <"mb" : <["x"=2]>>>
func.func public @unused(%x: tensor<4xf32>) attributes {topology = #two} {
  // expected-error @+1 {{stablehlo.abs cannot be placed on a mesh: its operands are on different ones}}
  %0 = stablehlo.abs %x {mpmd.src_set = #mpmd.meshes_with_origins<>} : tensor<4xf32>
  return
}
