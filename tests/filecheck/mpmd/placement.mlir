// Inferred fragments and transfers from a CPU move to their first user; tokens are created where they are needed.
// RUN: sdy-opt %s --mpmd-delay-inferred-fragments --mpmd-delay-transfers-from-cpu --mpmd-sink-create-token-into-fragments | filecheck %s

// CHECK: module {
// CHECK-NEXT:   func.func public @chain(%arg0: !mpmd.mesh_tensor<"a", tensor<4xf32>>, %arg1: !mpmd.mesh_tensor<"a/cpu", tensor<4xf32>>) -> (!mpmd.mesh_tensor<"a", tensor<4xf32>>, !mpmd.mesh_tensor<"a", tensor<4xf32>>, !mpmd.mesh_tensor<"a", tensor<4xf32>>) attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"a/cpu" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = mpmd.fragment<mesh="a", origin=["u1"]> (%arg0) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %6 = stablehlo.negate %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %6 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="a", origin=[]> (%arg0) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %6 = stablehlo.abs %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %6 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="a", origin=[]> (%1) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %6 = stablehlo.sine %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %6 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %3 = mpmd.fragment<mesh="a", origin=["u2"]> (%2) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %6 = stablehlo.cosine %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %6 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %4 = mpmd.transfer %arg1 : (!mpmd.mesh_tensor<"a/cpu", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %5 = mpmd.fragment<mesh="a", origin=["u3"]> (%4) (%arg2: tensor<4xf32>) {
// CHECK-NEXT:       %6 = stablehlo.tanh %arg2 : tensor<4xf32>
// CHECK-NEXT:       mpmd.return %6 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     return %0, %3, %5 : !mpmd.mesh_tensor<"a", tensor<4xf32>>, !mpmd.mesh_tensor<"a", tensor<4xf32>>, !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func public @tokens(%arg0: !mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>> attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"a/cpu" : <["x"=2]>>>} {
// CHECK-NEXT:     %0 = stablehlo.create_token : !stablehlo.token
// CHECK-NEXT:     %1 = mpmd.fragment<mesh="a", origin=["f"]> (%arg0) (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.create_token : !stablehlo.token
// CHECK-NEXT:       %4 = stablehlo.after_all %3, %3 : !stablehlo.token
// CHECK-NEXT:       mpmd.return %arg1 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     %2 = mpmd.fragment<mesh="a", origin=["g"]> (%1) {arg_attrs = [{mhlo.memory_kind = "pinned_host"}]} (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       %3 = stablehlo.create_token : !stablehlo.token
// CHECK-NEXT:       %4 = stablehlo.after_all %3 : !stablehlo.token
// CHECK-NEXT:       mpmd.return %arg1 : tensor<4xf32>
// CHECK-NEXT:     } : (!mpmd.mesh_tensor<"a", tensor<4xf32>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:     return %2 : !mpmd.mesh_tensor<"a", tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
!t = !mpmd.mesh_tensor<"a", tensor<4xf32>>
!c = !mpmd.mesh_tensor<"a/cpu", tensor<4xf32>>
func.func public @chain(%x: !t, %y: !c) -> (!t, !t, !t) attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"a/cpu" : <["x"=2]>>>} {
  %0 = mpmd.transfer %y : (!c) -> !t
  %1 = mpmd.fragment<mesh="a", origin=[]> (%x) (%p: tensor<4xf32>) {
    %9 = stablehlo.abs %p : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!t) -> !t
  %2 = mpmd.fragment<mesh="a", origin=[]> (%1) (%p: tensor<4xf32>) {
    %9 = stablehlo.sine %p : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!t) -> !t
  %3 = mpmd.fragment<mesh="a", origin=["u1"]> (%x) (%p: tensor<4xf32>) {
    %9 = stablehlo.negate %p : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!t) -> !t
  %4 = mpmd.fragment<mesh="a", origin=["u2"]> (%2) (%p: tensor<4xf32>) {
    %9 = stablehlo.cosine %p : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!t) -> !t
  %5 = mpmd.fragment<mesh="a", origin=["u3"]> (%0) (%p: tensor<4xf32>) {
    %9 = stablehlo.tanh %p : tensor<4xf32>
    mpmd.return %9 : tensor<4xf32>
  } : (!t) -> !t
  return %3, %4, %5 : !t, !t, !t
}

func.func public @tokens(%x: !t) -> !t attributes {topology = #mpmd.topology<<"a" : <["x"=2]>>, <"a/cpu" : <["x"=2]>>>} {
  %0 = stablehlo.create_token : !stablehlo.token
  %1:2 = mpmd.fragment<mesh="a", origin=["f"]> (%x, %0) (%p: tensor<4xf32>, %k: !stablehlo.token) {
    %9 = stablehlo.after_all %k, %k : !stablehlo.token
    mpmd.return %p, %9 : tensor<4xf32>, !stablehlo.token
  } : (!t, !stablehlo.token) -> (!t, !stablehlo.token)
  %2 = mpmd.fragment<mesh="a", origin=["g"]> (%1#1, %1#0) {arg_attrs = [{},
      {mhlo.memory_kind = "pinned_host"}]} (%k: !stablehlo.token, %p: tensor<4xf32>) {
    %9 = stablehlo.after_all %k : !stablehlo.token
    mpmd.return %p : tensor<4xf32>
  } : (!stablehlo.token, !t) -> !t
  return %2 : !t
}
