// Rules order independent fragments and merge them; a rule about a fragment that does not exist has no effect.
// RUN: sdy-opt %s --mpmd-rule-based-schedule='rules=FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=["c"],mesh_name="m")->FragmentInfo(origins=["z"],mesh_name="m")->FragmentInfo(origins=["b"],mesh_name="m")->FragmentInfo(origins=["a"],mesh_name="m")])' | filecheck %s
// RUN: sdy-opt %s --mpmd-rule-based-merge='rules=FragmentMergeRule(sources=[FragmentInfo(origins=["a"],mesh_name="m"),FragmentInfo(origins=["c"],mesh_name="m")],target=FragmentInfo(origins=["a","c"],stage=3,call_counter=1,split_type=kDropTransferred,mesh_name="m"))' | filecheck %s --check-prefix=MERGED

// CHECK: module {
// CHECK-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"m", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="m", origin=["c"]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.sine %arg1 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="m", origin=["b"]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg1 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="m", origin=["a"]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.abs %arg1 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %3 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:     return %2, %1, %0 : !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// MERGED: module {
// MERGED-NEXT:   func.func public @main(%arg0: !mpmd.mesh_tensor<"m", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
// MERGED-NEXT:     %0:2 = mpmd.fragment<mesh="m", origin=["a", "c"], stage=3> (%arg0) {call_counter = 1 : ui32, split_drop_transferred} (%arg1: tensor<4xf32>) {
// MERGED-NEXT:       %2 = stablehlo.abs %arg1 : tensor<4xf32>
// MERGED-NEXT:       %3 = stablehlo.sine %arg1 : tensor<4xf32>
// MERGED-NEXT:       mpmd.return %2, %3 : tensor<4xf32>, tensor<4xf32>
// MERGED-NEXT:     } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>)
// MERGED-NEXT:     %1 = mpmd.fragment<mesh="m", origin=["b"]> (%arg0) (%arg1: tensor<4xf32>) {
// MERGED-NEXT:       %2 = stablehlo.negate %arg1 : tensor<4xf32>
// MERGED-NEXT:       mpmd.return %2 : tensor<4xf32>
// MERGED-NEXT:     } : (!mpmd.mesh_tensor<"m", tensor<4xf32>>) -> !mpmd.mesh_tensor<"m", tensor<4xf32>>
// MERGED-NEXT:     return %0#0, %1, %0#1 : !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>, !mpmd.mesh_tensor<"m", tensor<4xf32>>
// MERGED-NEXT:   }
// MERGED-NEXT: }
!t = !mpmd.mesh_tensor<"m", tensor<4xf32>>
func.func public @main(%x: !t) -> (!t, !t, !t) attributes {topology = #mpmd.topology<<"m" : <["x"=2]>>>} {
  %0 = mpmd.fragment<mesh="m", origin=["a"]> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  %2 = mpmd.fragment<mesh="m", origin=["b"]> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  %3 = mpmd.fragment<mesh="m", origin=["c"]> (%x) (%p: tensor<4xf32>) {
    %1 = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (!t) -> !t
  return %0, %2, %3 : !t, !t, !t
}
