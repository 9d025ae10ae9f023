// Rules that contradict the program, and stages that were not merged.
// RUN: sdy-opt %s --mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["a"],mesh_name="m"),FragmentInfo(origins=["c"],mesh_name="m")],target=FragmentInfo(origins=["a","c"],mesh_name="m"))' --mpmd-verify-stage-merging --mpmd-scheduling-units-verifier --split-input-file --verify-diagnostics

!t = !mpmd.mesh_tensor<"m", tensor<4xf32>>
// expected-error @+1 {{a cycle: not all fragments can be merged as the rules say}}
func.func public @cycle(%x: !t) -> !t attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["a"]> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  %2 = mpmd.fragment<mesh="m", origin=["b"]> (%0) (%p: tensor<4xf32>) {
    %1 = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  %3 = mpmd.fragment<mesh="m", origin=["c"]> (%2) (%p: tensor<4xf32>) {
    %1 = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %3 : !t
}

// -----

!t = !mpmd.mesh_tensor<"m", tensor<4xf32>>
func.func public @stage_in_two(%x: !t) -> (!t, !t) attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"], stage=1> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  // expected-error @+1 {{stage 1 of mesh m already has a fragment with the same transpose count 0}}
  %2 = mpmd.fragment<mesh="m", origin=["g"], stage=1> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %0, %2 : !t, !t
}

// -----

!t = !mpmd.mesh_tensor<"m", tensor<4xf32>>
// expected-warning @+1 {{mesh m must have 1 backward scheduling units, one per microbatch, got 0}}
func.func public @no_backward(%x: !t) -> !t attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) {call_counter = 0 : ui32} (%p: tensor<4xf32>) {
    %1 = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %0 : !t
}
