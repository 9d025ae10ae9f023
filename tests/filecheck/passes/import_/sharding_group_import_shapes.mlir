// RUN: sdy-opt %s --sdy-sharding-group-import -verify-diagnostics

func.func @main(%a: tensor<8x8xf32>, %b: tensor<64xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<8x8xf32>
  // expected-error @+1 {{members of sharding group 0 must have the same shape, got tensor<8x8xf32> and tensor<64xf32>}}
  sdy.sharding_group %b group_id=0 : tensor<64xf32>
  return
}
