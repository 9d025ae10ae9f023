// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-run %s | filecheck %s --check-prefix=VALUES

// CHECK: stablehlo.constant dense_resource<pair> : tensor<2xf32>
// CHECK: stablehlo.constant dense_resource<"one more"> : tensor<3xi16>
// CHECK: {-#
// CHECK-NEXT: dialect_resources: {
// CHECK-NEXT: builtin: {
// CHECK-NEXT: pair: "0x040000000000803F00000040",
// CHECK-NEXT: "one more": "0x02000000070007000700"
// CHECK-NEXT: }
// VALUES: tensor<2xf32> {
// VALUES-NEXT: [1.000000e+00, 2.000000e+00]
// VALUES: tensor<3xi16> {
// VALUES-NEXT: [7, 7, 7]
func.func @main() -> (tensor<2xf32>, tensor<3xi16>) {
  %0 = stablehlo.constant dense_resource<pair> : tensor<2xf32>
  %1 = stablehlo.constant dense_resource<"one more"> : tensor<3xi16>
  return %0, %1 : tensor<2xf32>, tensor<3xi16>
}

{-#
  dialect_resources: {
    builtin: {
      pair: "0x040000000000803F00000040",
      unused: "0x04000000AA",
      "one more": "0x02000000070007000700"
    }
  },
  external_resources: {
    tool: { option: true }
  }
#-}
