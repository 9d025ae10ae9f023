// RUN: sdy-opt %s | sdy-opt | filecheck %s
// RUN: sdy-opt %s -mlir-print-op-generic | sdy-opt | filecheck %s
// RUN: sdy-opt %s -mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

sdy.mesh @m = <["a"=2, "b"=4, "c"=2]>
sdy.mesh @back = <["a"=2, "b"=4, "c"=2], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>

func.func @all(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) {
  // CHECK:      %0 = sdy.all_gather [{"b":(2)2}, {}] %arg0 out_sharding=<@m, [{"a", "b":(1)2}, {}]> : tensor<8x8xf32>
  // GENERIC:    "sdy.all_gather"({{.*}}) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"b":(2)2}, {}]>, out_sharding =
  %0 = sdy.all_gather [{"b":(2)2},{}] %arg0 out_sharding=<@m, [{"a", "b":(1)2}, {}]> : tensor<8x8xf32>
  // CHECK-NEXT: %1 = sdy.all_slice [{"b":(2)2}, {"c"}] %0 out_sharding=<@m, [{"a", "b"}, {"c"}]> {x} : tensor<8x8xf32>
  %1 = sdy.all_slice [{"b":(2)2}, {"c"}] %0 out_sharding=<@m, [{"a", "b"}, {"c"}]> {x} : tensor<8x8xf32>
  // CHECK-NEXT: %2 = sdy.all_to_all [{"b"}: 0->1] %1 out_sharding=<@m, [{"a"}, {"c", "b"}]> : tensor<8x8xf32>
  // GENERIC:    "sdy.all_to_all"({{.*}}) <{out_sharding = #sdy.sharding<@m, [{"a"}, {"c", "b"}]>, params = #sdy<all_to_all_param_list[{"b"}: 0->1]>}>
  %2 = sdy.all_to_all [{"b"} : 0 -> 1] %1 out_sharding=<@m, [{"a"}, {"c", "b"}]> : tensor<8x8xf32>
  // CHECK-NEXT: %3 = sdy.collective_permute %2 out_sharding=<@back, [{"c"}, {"a", "b"}]> : tensor<8x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@back, [{"c"}, {"a", "b"}]> : tensor<8x8xf32>
  // CHECK-NEXT: %4 = sdy.sharded_to_unreduced [{}, {"b"}] %3 out_sharding=<@back, [{"c"}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
  %4 = sdy.sharded_to_unreduced [{}, {"b"}] %3 out_sharding=<@back, [{"c"}, {"a"}], unreduced={"b"}> : tensor<8x8xf32>
  // CHECK-NEXT: %5 = sdy.reduce_scatter [{"b":(1)2}, {"b":(2)2}] %4 out_sharding=<@back, [{"c", "b":(1)2}, {"a", "b":(2)2}]> : tensor<8x8xf32>
  // GENERIC:    "sdy.reduce_scatter"({{.*}}) <{out_sharding = {{.*}}, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"b":(1)2}, {"b":(2)2}]>, reduction_op = 0 : i32}>
  %5 = sdy.reduce_scatter sum [{"b":(1)2}, {"b":(2)2}] %4 out_sharding=<@back, [{"c", "b":(1)2}, {"a", "b":(2)2}]> : tensor<8x8xf32>
  return
}

func.func @kinds(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}], unreduced=max{"b"}>},
                 %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  // CHECK:      sdy.all_reduce max {"b"} %arg0 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  // GENERIC:    "sdy.all_reduce"({{.*}}) <{out_sharding = {{.*}}, reduction_axes = #sdy<axis_ref_list{"b"}>, reduction_op = 1 : i32}>
  %0 = sdy.all_reduce max {"b"} %arg0 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.reduce_scatter max [{"b"}] %arg0 out_sharding=<@m, [{"a", "b"}]> : tensor<8xf32>
  %1 = sdy.reduce_scatter "max" [{"b"}] %arg0 out_sharding=<@m, [{"a", "b"}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.all_reduce {} %arg1 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  %2 = sdy.all_reduce {} %arg1 out_sharding=<@m, [{"a"}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.replicated_to_unreduced {"c"} %arg1 out_sharding=<@m, [{"a"}], unreduced={"c"}> : tensor<8xf32>
  %3 = sdy.replicated_to_unreduced {"c"} %arg1 out_sharding=<@m, [{"a"}], unreduced={"c"}> : tensor<8xf32>
  return
}
