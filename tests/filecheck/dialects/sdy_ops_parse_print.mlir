// RUN: sdy-opt %s | sdy-opt | filecheck %s
// RUN: sdy-opt %s -mlir-print-op-generic | sdy-opt | filecheck %s
// RUN: sdy-opt %s -mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

sdy.mesh @m = <["a"=2, "b"=4]>

// CHECK-LABEL: func.func @single_values
func.func @single_values(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>) {
  // CHECK-NEXT: %0 = sdy.sharding_constraint %arg0 <@m, [{"a"}, {?}]> {kept} : tensor<8x8xf32>
  // GENERIC: "sdy.sharding_constraint"({{.*}}) <{sharding = #sdy.sharding<@m, [{"a"}, {?}]>}> {kept} :
  %0 = sdy.sharding_constraint %arg0 <@m, [{"a"}, {?}]> {kept} : tensor<8x8xf32>
  // CHECK-NEXT: %1 = sdy.reshard %0 <@m, [{}, {"b":(1)2}]> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@m, [{}, {"b":(1)2}]> : tensor<8x8xf32>
  // CHECK-NEXT: sdy.sharding_group %1 group_id=-12 {x, y = 1 : i32} : tensor<8x8xf32>
  // GENERIC: "sdy.sharding_group"({{.*}}) <{group_id = -12 : i64}>
  sdy.sharding_group %1 group_id=-12 {y = 1 : i32, x} : tensor<8x8xf32>
  // CHECK-NEXT: sdy.constant {x} dense<1.000000e+00> : tensor<4xf32>
  // GENERIC: "sdy.constant"() <{value = dense<1.000000e+00> : tensor<4xf32>}> {x} : () -> tensor<4xf32>
  %2 = sdy.constant {x} dense<1.0> : tensor<4xf32>
  // CHECK-NEXT: sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<8x8xf32>
  // GENERIC: "sdy.propagation_barrier"({{.*}}) <{allowed_direction = 1 : i32}>
  %3 = sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<8x8xf32>
  // CHECK-NEXT: sdy.data_flow_edge %arg1 sharding=<@m, [{"a"}]> : tensor<8xf32>
  %4 = sdy.data_flow_edge %arg1 sharding=<@m, [{"a"}]> : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @edges
func.func @edges(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // CHECK-NEXT: sdy.data_flow_edge %arg0 {x} : tensor<8xf32>
  %0 = sdy.data_flow_edge %arg0 {x} : tensor<8xf32>
  // CHECK-NEXT: sdy.func_data_flow_edge %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : tensor<8xf32>
  %1 = sdy.func_data_flow_edge %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"b"}]>]>} : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@m, [{"a"}, {?}]>, <@m, [{}]>] out_shardings=[<@m, [{"a", ?}, {?}]>, <@m, [{}]>] manual_axes={"a"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8xf32>) {
  // CHECK-NEXT:   sdy.return %arg2, %arg3 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK-NEXT: } {x} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[#sdy.sharding<@m, [{"a"}, {?}]>, <@m, [{}]>]
      out_shardings=[<@m, [{"a", ?}, {?}]>,
          <@m, [{}]>] manual_axes=#sdy<manual_axes{"a"}> (%p: tensor<4x8xf32> {dropped}, %q: tensor<8xf32>) {
    sdy.return %p, %q : tensor<4x8xf32>, tensor<8xf32>
  } {x} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  // CHECK-NEXT: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  // CHECK-NEXT:   sdy.return {x}
  // CHECK-NEXT: } : () -> ()
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return {x}
  } : () -> ()
  // CHECK-NEXT: %1 = sdy.named_computation<"a \22name\22">(%0#0) out_shardings=[<@m, [{}, {"b"}]>] (%arg2: tensor<8x8xf32>) {
  // CHECK-NEXT:   sdy.return %arg2 : tensor<8x8xf32>
  // CHECK-NEXT: } {execution_thread = "host"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // GENERIC: "sdy.named_computation"({{.*}}) <{name = "a \22name\22", out_shardings = #sdy.sharding_per_value<[<@m, [{}, {"b"}]>]>}> ({
  %1 = sdy.named_computation<"a \"name\"">(%0#0) out_shardings=[<@m, [{}, {"b"}]>] (%p: tensor<8x8xf32>) {
    sdy.return %p : tensor<8x8xf32>
  } {execution_thread = "host"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: sdy.named_computation<"none">() in_shardings=[] out_shardings=[] () {
  sdy.named_computation<"none">() in_shardings=[] out_shardings=[] () {
    sdy.return
  } : () -> ()
  return %1 : tensor<8x8xf32>
}
