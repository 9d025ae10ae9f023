// RUN: sdy-opt %s -canonicalize | filecheck %s

sdy.mesh @m = <["t"=2, "u"=8, "v"=2, "w"=2]>

// CHECK-LABEL: func.func @part_is_left_to_slice
func.func @part_is_left_to_slice(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"w"}, {}], unreduced={"u", "v"}>})
    -> tensor<16x8xf32> {
  // CHECK-NEXT: %0 = sdy.reduce_scatter [{"v"}, {"u"}] %arg0 out_sharding=<@m, [{"w", "v"}, {"u"}]>
  // CHECK-NEXT: %1 = sdy.all_slice [{"t"}, {}] %0 out_sharding=<@m, [{"w", "v", "t"}, {"u"}]>
  // CHECK-NEXT: return %1
  %0 = sdy.all_reduce {"u", "v"} %arg0 out_sharding=<@m, [{"w"}, {}]> : tensor<16x8xf32>
  %1 = sdy.all_slice [{"v", "t"}, {"u"}] %0 out_sharding=<@m, [{"w", "v", "t"}, {"u"}]> : tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @nothing_is_left
func.func @nothing_is_left(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced=max{"v"}>}) -> tensor<16xf32> {
  // CHECK-NEXT: %0 = sdy.reduce_scatter max [{"v"}] %arg0 out_sharding=<@m, [{"v"}], replicated={"w"}>
  // CHECK-NEXT: return %0
  %0 = sdy.all_reduce max {"v"} %arg0 out_sharding=<@m, [{}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"v"}] %0 out_sharding=<@m, [{"v"}], replicated={"w"}> : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// CHECK-LABEL: func.func @sub_axes_merge
func.func @sub_axes_merge(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"u":(1)2}], unreduced={"u":(2)2}>}) -> tensor<16xf32> {
  // CHECK-NEXT: sdy.reduce_scatter [{"u":(2)2}] %arg0 out_sharding=<@m, [{"u":(1)4}]>
  %0 = sdy.all_reduce {"u":(2)2} %arg0 out_sharding=<@m, [{"u":(1)2}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"u":(2)2}] %0 out_sharding=<@m, [{"u":(1)4}]> : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// CHECK-LABEL: func.func @equal_slices
func.func @equal_slices(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"v"}>})
    -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK-NEXT: %0 = sdy.reduce_scatter [{"v"}] %arg0 out_sharding=<@m, [{"v"}]>
  // CHECK-NEXT: return %0, %0
  %0 = sdy.all_reduce {"v"} %arg0 out_sharding=<@m, [{}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"v"}] %0 out_sharding=<@m, [{"v"}]> : tensor<16xf32>
  %2 = sdy.all_slice [{"v"}] %0 out_sharding=<@m, [{"v", ?}]> : tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: func.func @read_by_others
func.func @read_by_others(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"v"}>})
    -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK-NEXT: sdy.all_reduce
  // CHECK-NEXT: sdy.all_slice
  %0 = sdy.all_reduce {"v"} %arg0 out_sharding=<@m, [{}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"v"}] %0 out_sharding=<@m, [{"v"}]> : tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: func.func @behind_another_axis
func.func @behind_another_axis(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"v"}>}) -> tensor<16xf32> {
  // CHECK-NEXT: sdy.all_reduce
  // CHECK-NEXT: sdy.all_slice
  %0 = sdy.all_reduce {"v"} %arg0 out_sharding=<@m, [{}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"t", "v"}] %0 out_sharding=<@m, [{"t", "v"}]> : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// CHECK-LABEL: func.func @not_all_is_sliced
func.func @not_all_is_sliced(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"v", "w"}>}) -> tensor<16xf32> {
  // CHECK-NEXT: sdy.all_reduce
  // CHECK-NEXT: sdy.all_slice
  %0 = sdy.all_reduce {"v", "w"} %arg0 out_sharding=<@m, [{}]> : tensor<16xf32>
  %1 = sdy.all_slice [{"v"}] %0 out_sharding=<@m, [{"v"}]> : tensor<16xf32>
  return %1 : tensor<16xf32>
}
