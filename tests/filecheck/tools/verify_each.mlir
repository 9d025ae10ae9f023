// RUN: sdy-opt %s --sdy-close-shardings --symbol-dce --verify-each=full | filecheck %s
// RUN: sdy-opt %s --sdy-close-shardings --symbol-dce --verify-each=false | filecheck %s
// RUN: sdy-opt %s --sdy-close-shardings --symbol-dce --verify-each | filecheck %s

// CHECK: sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
