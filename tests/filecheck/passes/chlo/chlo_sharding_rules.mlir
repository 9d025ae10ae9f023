// CHLO ops get rules for propagation, which are removed after it; a rule of the user stays.
// RUN: sdy-opt %s --sdy-populate-chlo-sharding-rules | filecheck %s
// RUN: sdy-opt %s --sdy-populate-chlo-sharding-rules --sdy-drop-chlo-sharding-rules | filecheck %s --check-prefix DROPPED
// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s --check-prefix SHARDY
// RUN: sdy-opt %s --sdy-propagation-pipeline=through-chlo=true | filecheck %s --check-prefix XLA

sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x3xi32>, tensor<4x8xf32>) {
  // CHECK:      chlo.square %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>}
  // DROPPED:    chlo.square %arg0 : tensor
  // SHARDY:     chlo.square %arg0 : tensor
  // XLA:        chlo.square %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor
  %0 = chlo.square %a : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: chlo.top_k(%arg0, k = 3) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j], [i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}>}
  // SHARDY:     chlo.top_k(%arg0, k = 3) : tensor
  // XLA:        chlo.top_k(%arg0, k = 3) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>, <@m, [{"x"}, {}]>]>} : tensor
  %1:2 = chlo.top_k(%a, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  // DROPPED:    chlo.erf %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, j]) {i=4, j=8, k=8}, custom>}
  %2 = chlo.erf %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, j]) {i=4, j=8, k=8}, custom>}
      : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0, %1#0, %1#1, %2 : tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x3xi32>, tensor<4x8xf32>
}
