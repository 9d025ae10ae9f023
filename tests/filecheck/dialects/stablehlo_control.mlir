// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Control flow, calls, tuples and tokens.

// CHECK: func.func @control(%arg0: tensor<4xf32>, %arg1: tensor<i32>, %arg2: tensor<i1>) {
func.func @control(%x: tensor<4xf32>, %i: tensor<i32>, %p: tensor<i1>) {
  // CHECK-NEXT: %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<i32>, tensor<4xf32> attributes {note}
  // CHECK-NEXT: cond {
  // CHECK-NEXT: %5 = stablehlo.compare LT, %iterArg, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
  // CHECK-NEXT: stablehlo.return %5 : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: %5 = stablehlo.add %iterArg, %iterArg : tensor<i32>
  // CHECK-NEXT: stablehlo.return %5, %iterArg_0 : tensor<i32>, tensor<4xf32>
  // CHECK-NEXT: }
  %loop:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<4xf32> attributes {note}
    cond {
    %go = stablehlo.compare LT, %k, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %k, %k : tensor<i32>
    stablehlo.return %next, %y : tensor<i32>, tensor<4xf32>
  }
  // CHECK-NEXT: %1 = "stablehlo.if"(%arg2) ({
  // CHECK-NEXT: stablehlo.return %arg0 : tensor<4xf32>
  // CHECK-NEXT: }, {
  // CHECK-NEXT: %5 = stablehlo.negate %arg0 : tensor<4xf32>
  // CHECK-NEXT: stablehlo.return %5 {note} : tensor<4xf32>
  // CHECK-NEXT: }) {note} : (tensor<i1>) -> tensor<4xf32>
  %if = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %z = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %z {note} : tensor<4xf32>
  }) {note} : (tensor<i1>) -> tensor<4xf32>
  // CHECK-NEXT: %2:2 = "stablehlo.case"(%arg1) ({
  // CHECK-NEXT: stablehlo.return %arg1, %arg1 : tensor<i32>, tensor<i32>
  // CHECK-NEXT: }) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %case:2 = "stablehlo.case"(%i) ({
    stablehlo.return %i, %i : tensor<i32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
  // CHECK-NEXT: %3 = "stablehlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0>}> ({
  // CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
  // CHECK-NEXT: %5 = stablehlo.add %arg3, %arg4 : tensor<f32>
  // CHECK-NEXT: stablehlo.return %5 : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %map = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %z = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %4:2 = stablehlo.optimization_barrier %arg0, %0#0 : tensor<4xf32>, tensor<i32>
  %barrier:2 = stablehlo.optimization_barrier %x, %loop#0 : tensor<4xf32>, tensor<i32>
  // CHECK-NEXT: stablehlo.optimization_barrier {note}()
  stablehlo.optimization_barrier {note} ()
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @calls(%arg0: tensor<4xf32>, %arg1: tensor<i32>) {
func.func @calls(%x: tensor<4xf32>, %i: tensor<i32>) {
  // CHECK-NEXT: %0 = stablehlo.custom_call @target(%arg0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %effect = stablehlo.custom_call @target(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %1 = stablehlo.custom_call @"a b"() : () -> tensor<4xf32>
  %pure = stablehlo.custom_call @"a b"() {api_version = 1 : i32, has_side_effect = false} : () -> tensor<4xf32>
  // CHECK-NEXT: %2 = stablehlo.custom_call @foo(%arg0) {api_version = 2 : i32, backend_config = "abc", called_computations = [@calls], mhlo.note = 1 : i64, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  %full = stablehlo.custom_call @foo(%x) {api_version = 2 : i32, backend_config = "abc",
      called_computations = [@calls], mhlo.note = 1 : i64, operand_layouts = [dense<0> : tensor<1xindex>],
      output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0,
      operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %3:2 = stablehlo.custom_call @typed(%arg0, %arg1) {api_version = 4 : i32, backend_config = {n = 1 : i32}} : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  %config:2 = stablehlo.custom_call @typed(%x, %i) {api_version = 4 : i32, backend_config = {n = 1 : i32}}
      : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  // CHECK-NEXT: %4 = stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @twice, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %composite = stablehlo.composite "my.op" %x
      {composite_attributes = {n = 1 : i64}, decomposition = @twice, version = 2 : i32} : (tensor<4xf32>)
      -> tensor<4xf32>
  // CHECK-NEXT: %5 = call @twice(%arg0) {note} : (tensor<4xf32>) -> tensor<4xf32>
  %called = call @twice(%x) {note} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  %y = stablehlo.add %x, %x : tensor<4xf32>
  // CHECK-NEXT: return {note} %0 : tensor<4xf32>
  return {note} %y : tensor<4xf32>
}

// CHECK: func.func @tokens(%arg0: tensor<4xf32>, %arg1: tensor<i32>) {
func.func @tokens(%x: tensor<4xf32>, %i: tensor<i32>) {
  // CHECK-NEXT: %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<4xf32>, tensor<i32>>
  %tuple = stablehlo.tuple %x, %i : tuple<tensor<4xf32>, tensor<i32>>
  // CHECK-NEXT: %1 = stablehlo.tuple  : tuple<>
  %nothing = stablehlo.tuple : tuple<>
  // CHECK-NEXT: %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  %element = stablehlo.get_tuple_element %tuple[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  // CHECK-NEXT: %3 = stablehlo.create_token : !stablehlo.token
  %token = stablehlo.create_token : !stablehlo.token
  // CHECK-NEXT: %4 = stablehlo.after_all %3, %3 : !stablehlo.token
  %joined = stablehlo.after_all %token, %token : !stablehlo.token
  // CHECK-NEXT: %5 = stablehlo.after_all  {note} : !stablehlo.token
  %alone = stablehlo.after_all {note} : !stablehlo.token
  // CHECK-NEXT: return
  return
}
