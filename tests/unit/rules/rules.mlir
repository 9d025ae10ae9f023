func.func @custom_kept(%a: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %r = stablehlo.custom_call @my_kernel(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=4, j=6},
      custom>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}
// stablehlo.custom_call => <([i, j])->([j, i]) {i=4, j=6}, custom>

// -----

sdy.mesh @m = <["x"=2]>
func.func @pw(%a: tensor<3x1x10xf32>, %e: tensor<7x0xf32>, %s: tensor<f32>)
    -> (tensor<3x1x10xf32>, tensor<7x0xf32>, tensor<f32>, tensor<3x1x10xi1>) {
  %0 = stablehlo.multiply %a, %a : tensor<3x1x10xf32>
  %1 = stablehlo.negate %e : tensor<7x0xf32>
  %2 = stablehlo.subtract %s, %s : tensor<f32>
  %3 = stablehlo.compare GT, %a, %a : (tensor<3x1x10xf32>, tensor<3x1x10xf32>) -> tensor<3x1x10xi1>
  %4 = sdy.sharding_constraint %0 <@m, [{}, {?}, {"x"}]> : tensor<3x1x10xf32>
  return %4, %1, %2, %3 : tensor<3x1x10xf32>, tensor<7x0xf32>, tensor<f32>, tensor<3x1x10xi1>
}
// stablehlo.multiply => <([i, j, k], [i, j, k])->([i, j, k]) {i=3, j=1, k=10}>
// stablehlo.negate => <([i, j])->([i, j]) {i=7, j=0}>
// stablehlo.subtract => <([], [])->([])>
// stablehlo.compare => <([i, j, k], [i, j, k])->([i, j, k]) {i=3, j=1, k=10}>
// sdy.sharding_constraint => <([i, j, k])->([i, j, k]) {i=3, j=1, k=10}>

// -----

func.func @variadic_all_reduce(%a: tensor<6x7xf32>, %b: tensor<12xf32>) -> (tensor<6x7xf32>, tensor<12xf32>) {
  %0:2 = "stablehlo.all_reduce"(%a, %b) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %1 = stablehlo.add %x, %y
      : tensor<f32> stablehlo.return %1 : tensor<f32> }) {replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}
      : (tensor<6x7xf32>, tensor<12xf32>) -> (tensor<6x7xf32>, tensor<12xf32>)
  return %0#0, %0#1 : tensor<6x7xf32>, tensor<12xf32>
}
// stablehlo.all_reduce => <([i, j], [i])->([i, j], [i]) {i=6, j=7}>
// stablehlo.add => <([], [])->([])>

// -----

func.func @ag(%a: tensor<5x4x3xf32>, %b: tensor<5x4x3xi32>) -> (tensor<5x12x3xf32>, tensor<5x12x3xi32>) {
  %0:2 = "stablehlo.all_gather"(%a, %b) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2]]>
      : tensor<1x3xi64>} : (tensor<5x4x3xf32>, tensor<5x4x3xi32>) -> (tensor<5x12x3xf32>, tensor<5x12x3xi32>)
  return %0#0, %0#1 : tensor<5x12x3xf32>, tensor<5x12x3xi32>
}
// stablehlo.all_gather => <([i, k, j], [i, k, j])->([i, l, j], [i, l, j]) {i=5, j=3, k=4, l=12} need_replication={k, l}>

// -----

func.func @a2a(%a: tensor<6x10x7xf32>, %b: tensor<9x10xf32>) -> (tensor<2x10x21xf32>, tensor<9x10xf32>) {
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 2 : i64, split_count = 3 : i64,
      replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<6x10x7xf32>) -> tensor<2x10x21xf32>
  %1 = "stablehlo.all_to_all"(%b) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 3 : i64,
      replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<9x10xf32>) -> tensor<9x10xf32>
  return %0, %1 : tensor<2x10x21xf32>, tensor<9x10xf32>
}
// stablehlo.all_to_all => <([j, i, l])->([k, i, m]) {i=10, j=6, k=2, l=7, m=21} need_replication={j, k, l, m}>
// stablehlo.all_to_all => <([j, i])->([k, i]) {i=10, j=9, k=9} need_replication={j, k}>

// -----

func.func @rs(%a: tensor<5x12x3xf32>) -> tensor<5x4x3xf32> {
  %0 = "stablehlo.reduce_scatter"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %1 = stablehlo.add %x, %y
      : tensor<f32> stablehlo.return %1 : tensor<f32> }) {scatter_dimension = 1 : i64,
      replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<5x12x3xf32>) -> tensor<5x4x3xf32>
  return %0 : tensor<5x4x3xf32>
}
// stablehlo.reduce_scatter => <([i, k, j])->([i, l, j]) {i=5, j=3, k=12, l=4} need_replication={k, l}>

// -----

func.func @bni(%a: tensor<5x3x7xf32>, %f: tensor<3xf32>) -> tensor<5x3x7xf32> {
  %0 = "stablehlo.batch_norm_inference"(%a, %f, %f, %f, %f) {epsilon = 0.1 : f32, feature_index = 1 : i64}
      : (tensor<5x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}
// stablehlo.batch_norm_inference => <([i, j, k], [j], [j], [j], [j])->([i, j, k]) {i=5, j=3, k=7}>

// -----

func.func @bc(%a: tensor<6x5xf32>, %b: tensor<6x5x4xi8>, %s: tensor<f32>)
    -> (tensor<6x5x4xi8>, tensor<6x5xf32>, tensor<6x5xi32>, tensor<2xi16>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<6x5xf32>) -> tensor<6x5x4xi8>
  %1 = stablehlo.bitcast_convert %b : (tensor<6x5x4xi8>) -> tensor<6x5xf32>
  %2 = stablehlo.bitcast_convert %a : (tensor<6x5xf32>) -> tensor<6x5xi32>
  %3 = stablehlo.bitcast_convert %s : (tensor<f32>) -> tensor<2xi16>
  return %0, %1, %2, %3 : tensor<6x5x4xi8>, tensor<6x5xf32>, tensor<6x5xi32>, tensor<2xi16>
}
// stablehlo.bitcast_convert => <([i, j])->([i, j, k]) {i=6, j=5, k=4} need_replication={k}>
// stablehlo.bitcast_convert => <([i, j, k])->([i, j]) {i=6, j=5, k=4} need_replication={k}>
// stablehlo.bitcast_convert => <([i, j])->([i, j]) {i=6, j=5}>
// stablehlo.bitcast_convert => <([])->([i]) {i=2} need_replication={i}>

// -----

func.func @bid(%a: tensor<6x1xf32>, %b: tensor<1x7x1xf32>, %c: tensor<5x1x9xf32>, %s: tensor<f32>, %z: tensor<1x4xf32>)
    -> (tensor<3x6x5xf32>, tensor<7x4x1x9xf32>, tensor<9x6x8x5xf32>, tensor<2x3xf32>, tensor<0x4xf32>) {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<6x1xf32>) -> tensor<3x6x5xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 0, 2] : (tensor<1x7x1xf32>) -> tensor<7x4x1x9xf32>
  %2 = stablehlo.broadcast_in_dim %c, dims = [3, 1, 0] : (tensor<5x1x9xf32>) -> tensor<9x6x8x5xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %4 = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<0x4xf32>
  return %0, %1, %2, %3, %4 : tensor<3x6x5xf32>, tensor<7x4x1x9xf32>, tensor<9x6x8x5xf32>, tensor<2x3xf32>, tensor<0x4xf32>
}
// stablehlo.broadcast_in_dim => <([j, k])->([i, j, l]) {i=3, j=6, k=1, l=5}>
// stablehlo.broadcast_in_dim => <([j, i, l])->([i, k, l, m]) {i=7, j=1, k=4, l=1, m=9}>
// stablehlo.broadcast_in_dim => <([m, j, i])->([i, k, l, m]) {i=9, j=1, k=6, l=8, m=5}>
// stablehlo.broadcast_in_dim => <([])->([i, j]) {i=2, j=3}>
// stablehlo.broadcast_in_dim => <([i, k])->([j, k]) {i=1, j=0, k=4}>

// -----

func.func @chol(%a: tensor<3x6x6xf32>) -> tensor<3x6x6xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x6x6xf32>
  return %0 : tensor<3x6x6xf32>
}
// stablehlo.cholesky => <([i, j, k])->([i, j, k]) {i=3, j=6, k=6} need_replication={j, k}>

// -----

func.func @cs(%lo: tensor<f32>, %a: tensor<3x7xf32>, %p: tensor<i1>, %q: tensor<3x7xi1>)
    -> (tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>) {
  %0 = stablehlo.clamp %lo, %a, %lo : (tensor<f32>, tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
  %1 = stablehlo.select %p, %a, %0 : tensor<i1>, tensor<3x7xf32>
  %2 = stablehlo.select %q, %a, %0 : tensor<3x7xi1>, tensor<3x7xf32>
  return %0, %1, %2 : tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>
}
// stablehlo.clamp => <([], [i, j], [])->([i, j]) {i=3, j=7}>
// stablehlo.select => <([], [i, j], [i, j])->([i, j]) {i=3, j=7}>
// stablehlo.select => <([i, j], [i, j], [i, j])->([i, j]) {i=3, j=7}>

// -----

func.func @concat(%a: tensor<5x12xf32>, %b: tensor<5x20xf32>, %c: tensor<2x9xf32>, %d: tensor<7x9xf32>)
    -> (tensor<9x9xf32>, tensor<5x15xf32>, tensor<5x14xf32>, tensor<5x24xf32>, tensor<5x1xf32>) {
  %0 = stablehlo.concatenate %c, %d, dim = 0 : (tensor<2x9xf32>, tensor<7x9xf32>) -> tensor<9x9xf32>
  %s0 = stablehlo.slice %a [0:5, 1:8] : (tensor<5x12xf32>) -> tensor<5x7xf32>
  %s1 = stablehlo.slice %b [0:5, 12:20] : (tensor<5x20xf32>) -> tensor<5x8xf32>
  %1 = stablehlo.concatenate %s0, %s1, dim = 1 : (tensor<5x7xf32>, tensor<5x8xf32>) -> tensor<5x15xf32>
  %s2 = stablehlo.slice %a [0:5, 11:12] : (tensor<5x12xf32>) -> tensor<5x1xf32>
  %s3 = stablehlo.slice %a [0:5, 0:1] : (tensor<5x12xf32>) -> tensor<5x1xf32>
  %2 = stablehlo.concatenate %s2, %a, %s3, dim = 1 : (tensor<5x1xf32>, tensor<5x12xf32>, tensor<5x1xf32>) -> tensor<5x14xf32>
  %3 = stablehlo.concatenate %a, %a, dim = 1 : (tensor<5x12xf32>, tensor<5x12xf32>) -> tensor<5x24xf32>
  %4 = stablehlo.concatenate %s3, dim = 1 : (tensor<5x1xf32>) -> tensor<5x1xf32>
  return %0, %1, %2, %3, %4 : tensor<9x9xf32>, tensor<5x15xf32>, tensor<5x14xf32>, tensor<5x24xf32>, tensor<5x1xf32>
}
// stablehlo.concatenate => <([i, j], [i, j])->([i, j]) {i=9, j=9} need_replication={i}>
// stablehlo.concatenate => <([i, j], [i, j])->([i, j]) {i=5, j=15} permutation={j}>
// stablehlo.concatenate => <([i, j], [i, j], [i, j])->([i, j]) {i=5, j=14} permutation={j}>
// stablehlo.concatenate => <([i, j], [i, j])->([i, j]) {i=5, j=24} need_replication={j}>
// stablehlo.concatenate => <([i, j])->([i, j]) {i=5, j=1} permutation={j}>
// conservative stablehlo.concatenate => <([j, i], [k, i])->([l, i]) {i=9, j=1, k=1, l=1}>
// conservative stablehlo.concatenate => <([i, j], [i, k])->([i, l]) {i=5, j=1, k=1, l=1}>

// -----

func.func @conv(%a: tensor<4x20x6xf32>, %k3: tensor<3x6x10xf32>, %k12: tensor<12x6x10xf32>, %k1: tensor<1x6x10xf32>)
    -> (tensor<4x9x10xf32>, tensor<4x9x10xf32>, tensor<4x20x10xf32>) {
  %0 = stablehlo.convolution(%a, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x20x6xf32>, tensor<3x6x10xf32>)
      -> tensor<4x9x10xf32>
  %1 = stablehlo.convolution(%a, %k12) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x20x6xf32>, tensor<12x6x10xf32>)
      -> tensor<4x9x10xf32>
  %2 = stablehlo.convolution(%a, %k1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x20x6xf32>, tensor<1x6x10xf32>)
      -> tensor<4x20x10xf32>
  return %0, %1, %2 : tensor<4x9x10xf32>, tensor<4x9x10xf32>, tensor<4x20x10xf32>
}
// stablehlo.convolution => <([i, jk, l], [k, l, m])->([i, j, m]) {i=4, j=9, k=2, l=6, m=10} reduction={k, l} permutation={j}>
// stablehlo.convolution => <([i, j, l], [j, l, m])->([i, k, m]) {i=4, j=12, k=9, l=6, m=10} reduction={j, l} permutation={k}>
// stablehlo.convolution => <([i, j, k], [m, k, l])->([i, j, l]) {i=4, j=20, k=6, l=10, m=1} reduction={k} permutation={j}>
// conservative stablehlo.convolution => <([i, l, j], [m, j, k])->([i, n, k]) {i=4, j=6, k=10, l=1, m=1, n=1} reduction={j}>

// -----

func.func @conv_groups(%a: tensor<4x9x12xf32>, %ka: tensor<2x4x6xf32>, %kd: tensor<2x1x12xf32>, %b: tensor<10x9x4xf32>,
    %kb: tensor<2x4x15xf32>, %c: tensor<5x9x4xf32>, %kc: tensor<2x4x5xf32>)
    -> (tensor<4x8x6xf32>, tensor<4x8x12xf32>, tensor<2x8x15xf32>, tensor<1x8x5xf32>) {
  %0 = stablehlo.convolution(%a, %ka) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<4x9x12xf32>, tensor<2x4x6xf32>)
      -> tensor<4x8x6xf32>
  %1 = stablehlo.convolution(%a, %kd) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 12 : i64} : (tensor<4x9x12xf32>, tensor<2x1x12xf32>)
      -> tensor<4x8x12xf32>
  %2 = stablehlo.convolution(%b, %kb) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 5 : i64, feature_group_count = 1 : i64} : (tensor<10x9x4xf32>, tensor<2x4x15xf32>)
      -> tensor<2x8x15xf32>
  %3 = stablehlo.convolution(%c, %kc) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 5 : i64, feature_group_count = 1 : i64} : (tensor<5x9x4xf32>, tensor<2x4x5xf32>)
      -> tensor<1x8x5xf32>
  return %0, %1, %2, %3 : tensor<4x8x6xf32>, tensor<4x8x12xf32>, tensor<2x8x15xf32>, tensor<1x8x5xf32>
}
// stablehlo.convolution => <([i, j, lm], [k, m, ln])->([i, j, ln]) {i=4, j=8, k=2, l=3, m=4, n=2} reduction={m} permutation={j, k}>
// stablehlo.convolution => <([i, j, l], [k, m, l])->([i, j, l]) {i=4, j=8, k=2, l=12, m=1} reduction={m} permutation={j, k}>
// stablehlo.convolution => <([ij, k, m], [l, m, in])->([j, k, in]) {i=5, j=2, k=8, l=2, m=4, n=3} reduction={m} permutation={k, l}>
// stablehlo.convolution => <([i, k, m], [l, m, i])->([j, k, i]) {i=5, j=1, k=8, l=2, m=4} reduction={m} permutation={k, l}>

// -----

func.func @conv2d(%a: tensor<2x3x5x16xf32>, %k: tensor<4x3x5x2xf32>, %m: tensor<4x6xf32>, %w: tensor<6x1xf32>)
    -> (tensor<2x4x1x8xf32>, tensor<4x1xf32>) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x5x16xf32>, tensor<4x3x5x2xf32>)
      -> tensor<2x4x1x8xf32>
  %1 = stablehlo.convolution(%m, %w) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6xf32>, tensor<6x1xf32>)
      -> tensor<4x1xf32>
  return %0, %1 : tensor<2x4x1x8xf32>, tensor<4x1xf32>
}
// stablehlo.convolution => <([i, m, j, kl], [n, m, j, l])->([i, n, o, k]) {i=2, j=5, k=8, l=2, m=3, n=4, o=1} reduction={j, l, m} permutation={k}>
// stablehlo.convolution => <([i, j], [j, k])->([i, l]) {i=4, j=6, k=1, l=1} reduction={j}>

// -----

func.func @dots(%v: tensor<9xf32>, %m: tensor<9x5xf32>, %n: tensor<7x9xf32>)
    -> (tensor<f32>, tensor<5xf32>, tensor<7xf32>, tensor<7x5xf32>) {
  %0 = stablehlo.dot %v, %v : (tensor<9xf32>, tensor<9xf32>) -> tensor<f32>
  %1 = stablehlo.dot %v, %m : (tensor<9xf32>, tensor<9x5xf32>) -> tensor<5xf32>
  %2 = stablehlo.dot %n, %v : (tensor<7x9xf32>, tensor<9xf32>) -> tensor<7xf32>
  %3 = stablehlo.dot %n, %m : (tensor<7x9xf32>, tensor<9x5xf32>) -> tensor<7x5xf32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<5xf32>, tensor<7xf32>, tensor<7x5xf32>
}
// stablehlo.dot => <([i], [i])->([]) {i=9} reduction={i}>
// stablehlo.dot => <([j], [j, i])->([i]) {i=5, j=9} reduction={j}>
// stablehlo.dot => <([i, j], [j])->([i]) {i=7, j=9} reduction={j}>
// stablehlo.dot => <([i, k], [k, j])->([i, j]) {i=7, j=5, k=9} reduction={k}>

// -----

func.func @dg(%a: tensor<7x3x5x4xf32>, %b: tensor<4x6x3xf32>, %c: tensor<6x9x4xf32>, %d: tensor<9x4x6xf32>)
    -> (tensor<3x7x5x6xf32>, tensor<f32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [2], contracting_dims = [3] x [0]
      : (tensor<7x3x5x4xf32>, tensor<4x6x3xf32>) -> tensor<3x7x5x6xf32>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [2, 0, 1] x [1, 2, 0] : (tensor<6x9x4xf32>, tensor<9x4x6xf32>) -> tensor<f32>
  return %0, %1 : tensor<3x7x5x6xf32>, tensor<f32>
}
// stablehlo.dot_general => <([j, i, k, m], [m, l, i])->([i, j, k, l]) {i=3, j=7, k=5, l=6, m=4} reduction={m}>
// stablehlo.dot_general => <([j, k, i], [k, i, j])->([]) {i=4, j=6, k=9} reduction={i, j, k}>

// -----

func.func @ds(%a: tensor<9x6xf32>, %i: tensor<i32>) -> tensor<9x2xf32> {
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [9, 2] : (tensor<9x6xf32>, tensor<i32>, tensor<i32>) -> tensor<9x2xf32>
  return %0 : tensor<9x2xf32>
}
// stablehlo.dynamic_slice => <([i, j], [], [])->([i, j]) {i=9, j=6} need_replication={j} blocked_propagation={j}>

// -----

func.func @dus(%a: tensor<9x6xf32>, %u: tensor<9x2xf32>, %i: tensor<i32>) -> (tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %d = sdy.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %c : (tensor<9x6xf32>, tensor<9x2xf32>, tensor<i32>, tensor<i32>) -> tensor<9x6xf32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %c, %d : (tensor<9x6xf32>, tensor<9x2xf32>, tensor<i32>, tensor<i32>) -> tensor<9x6xf32>
  %e = stablehlo.negate %d : tensor<i32>
  %2 = stablehlo.dynamic_update_slice %a, %u, %c, %e : (tensor<9x6xf32>, tensor<9x2xf32>, tensor<i32>, tensor<i32>) -> tensor<9x6xf32>
  return %0, %1, %2 : tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>
}
// stablehlo.dynamic_update_slice => <([i, j], [i, k], [], [])->([i, j]) {i=9, j=6, k=2} need_replication={k}>
// stablehlo.dynamic_update_slice => <([i, j], [i, k], [], [])->([i, j]) {i=9, j=6, k=2}>
// stablehlo.dynamic_update_slice => <([i, j], [i, k], [], [])->([i, j]) {i=9, j=6, k=2} need_replication={k}>

// -----

func.func @fft(%a: tensor<5x6x10xcomplex<f32>>, %r: tensor<5x6x10xf32>, %h: tensor<5x6x6xcomplex<f32>>)
    -> (tensor<5x6x10xcomplex<f32>>, tensor<5x6x6xcomplex<f32>>, tensor<5x6x10xf32>) {
  %0 = stablehlo.fft %a, type = FFT, length = [6, 10] : (tensor<5x6x10xcomplex<f32>>) -> tensor<5x6x10xcomplex<f32>>
  %1 = stablehlo.fft %r, type = RFFT, length = [10] : (tensor<5x6x10xf32>) -> tensor<5x6x6xcomplex<f32>>
  %2 = stablehlo.fft %h, type = IRFFT, length = [6, 10] : (tensor<5x6x6xcomplex<f32>>) -> tensor<5x6x10xf32>
  return %0, %1, %2 : tensor<5x6x10xcomplex<f32>>, tensor<5x6x6xcomplex<f32>>, tensor<5x6x10xf32>
}
// stablehlo.fft => <([i, j, k])->([i, j, k]) {i=5, j=6, k=10} need_replication={j, k}>
// stablehlo.fft => <([i, j, k])->([i, j, k]) {i=5, j=6, k=10} need_replication={k} blocked_propagation={k}>
// stablehlo.fft => <([i, j, k])->([i, j, k]) {i=5, j=6, k=6} need_replication={j, k} blocked_propagation={k}>

// -----

func.func @gathers(%t: tensor<50x8xf32>, %x: tensor<6x7xi32>, %o: tensor<9x5x6x4xf32>, %y: tensor<6x10x2xi32>,
    %p: tensor<9x5xf32>, %z: tensor<7x1xi32>, %q: tensor<1x12xf32>, %w: tensor<2x7xi32>)
    -> (tensor<6x7x8xf32>, tensor<6x10x5x3xf32>, tensor<7x1x5xf32>, tensor<7xf32>) {
  %0 = "stablehlo.gather"(%t, %x) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 8>}
      : (tensor<50x8xf32>, tensor<6x7xi32>) -> tensor<6x7x8xf32>
  %1 = "stablehlo.gather"(%o, %y) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 3],
      collapsed_slice_dims = [0], operand_batching_dims = [2], start_indices_batching_dims = [0],
      start_index_map = [0, 3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 5, 1, 3>}
      : (tensor<9x5x6x4xf32>, tensor<6x10x2xi32>) -> tensor<6x10x5x3xf32>
  %2 = "stablehlo.gather"(%p, %z) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0],
      index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>} : (tensor<9x5xf32>, tensor<7x1xi32>) -> tensor<7x1x5xf32>
  %3 = "stablehlo.gather"(%q, %w) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
      start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}
      : (tensor<1x12xf32>, tensor<2x7xi32>) -> tensor<7xf32>
  return %0, %1, %2, %3 : tensor<6x7x8xf32>, tensor<6x10x5x3xf32>, tensor<7x1x5xf32>, tensor<7xf32>
}
// stablehlo.gather => <([l, k], [i, j])->([i, j, k]) {i=6, j=7, k=8, l=50} reduction={l}>
// stablehlo.gather => <([m, k, i, l], [i, j, n])->([i, j, k, l]) {i=6, j=10, k=5, l=4, m=9, n=2} reduction={m} need_replication={l, n} blocked_propagation={l}>
// stablehlo.gather => <([j, l], [i, m])->([i, k, l]) {i=7, j=9, k=1, l=5, m=1} reduction={j} need_replication={k, m}>
// stablehlo.gather => <([j, k], [l, i])->([i]) {i=7, j=1, k=12, l=2} reduction={k} need_replication={j, l}>

// -----

func.func @scatters(%t: tensor<50x8xf32>, %x: tensor<6x7xi32>, %u: tensor<6x7x8xf32>, %o: tensor<9x5x6x4xf32>,
    %y: tensor<6x10x2xi32>, %v: tensor<6x10x5x3xf32>) -> (tensor<50x8xf32>, tensor<50x8xf32>, tensor<9x5x6x4xf32>) {
  %0 = "stablehlo.scatter"(%t, %x, %u) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %9 = stablehlo.maximum %b, %a
      : tensor<f32> stablehlo.return %9
      : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>,
      indices_are_sorted = false, unique_indices = false} : (tensor<50x8xf32>, tensor<6x7xi32>, tensor<6x7x8xf32>)
      -> tensor<50x8xf32>
  %1 = "stablehlo.scatter"(%t, %x, %u) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b
      : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>,
      indices_are_sorted = false, unique_indices = false} : (tensor<50x8xf32>, tensor<6x7xi32>, tensor<6x7x8xf32>)
      -> tensor<50x8xf32>
  %2 = "stablehlo.scatter"(%o, %y, %v) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %9 = stablehlo.add %a, %b
      : tensor<f32> stablehlo.return %9
      : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3],
      inserted_window_dims = [0], input_batching_dims = [2], scatter_indices_batching_dims = [0],
      scatter_dims_to_operand_dims = [0, 3], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}
      : (tensor<9x5x6x4xf32>, tensor<6x10x2xi32>, tensor<6x10x5x3xf32>) -> tensor<9x5x6x4xf32>
  return %0, %1, %2 : tensor<50x8xf32>, tensor<50x8xf32>, tensor<9x5x6x4xf32>
}
// stablehlo.scatter => <([l, k], [i, j], [i, j, k])->([l, k]) {i=6, j=7, k=8, l=50} reduction={i, j}>
// stablehlo.scatter => <([l, k], [i, j], [i, j, k])->([l, k]) {i=6, j=7, k=8, l=50} need_replication={i, j}>
// stablehlo.scatter => <([n, k, i, l], [i, j, o], [i, j, k, m])->([n, k, i, l]) {i=6, j=10, k=5, l=4, m=3, n=9, o=2} reduction={j} need_replication={l, m, o}>

// -----

func.func @scatter_two(%a: tensor<9x5xi1>, %b: tensor<9x5xi1>, %x: tensor<7x1xi32>, %u: tensor<7x5xi1>)
    -> (tensor<9x5xi1>, tensor<9x5xi1>) {
  %0:2 = "stablehlo.scatter"(%a, %b, %x, %u,
      %u) ({ ^bb0(%p: tensor<i1>, %q: tensor<i1>, %r: tensor<i1>, %s: tensor<i1>): %8 = stablehlo.and %p, %r
      : tensor<i1> %9 = stablehlo.and %q, %s : tensor<i1> stablehlo.return %8, %9 : tensor<i1>,
      tensor<i1> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = false}
      : (tensor<9x5xi1>, tensor<9x5xi1>, tensor<7x1xi32>, tensor<7x5xi1>, tensor<7x5xi1>)
      -> (tensor<9x5xi1>, tensor<9x5xi1>)
  return %0#0, %0#1 : tensor<9x5xi1>, tensor<9x5xi1>
}
// stablehlo.scatter => <([k, j], [k, j], [i, l], [i, j], [i, j])->([k, j], [k, j]) {i=7, j=5, k=9, l=1} reduction={i} need_replication={l}>

// -----

func.func @pad_slice(%a: tensor<6x9x4xf32>, %z: tensor<f32>) -> (tensor<8x9x7xf32>, tensor<6x3x4xf32>) {
  %0 = stablehlo.pad %a, %z, low = [2, 1, 0], high = [0, -1, 0], interior = [0, 0, 1]
      : (tensor<6x9x4xf32>, tensor<f32>) -> tensor<8x9x7xf32>
  %1 = stablehlo.slice %a [0:6, 0:9:3, 0:4] : (tensor<6x9x4xf32>) -> tensor<6x3x4xf32>
  return %0, %1 : tensor<8x9x7xf32>, tensor<6x3x4xf32>
}
// stablehlo.pad => <([i, j, k], [])->([i, j, k]) {i=6, j=9, k=4} permutation={i, j, k}>
// stablehlo.slice => <([i, j, k])->([i, j, k]) {i=6, j=9, k=4} permutation={j}>
// conservative stablehlo.pad => <([i, j, k], [])->([i, j, k]) {i=6, j=9, k=4} permutation={i, j, k} blocked_propagation={i, k}>
// conservative stablehlo.slice => <([i, j, k])->([i, j, k]) {i=6, j=9, k=4} permutation={j} blocked_propagation={j}>

// -----

func.func @reduces(%a: tensor<4x9x5xf32>, %b: tensor<4x9xf32>, %z: tensor<f32>) -> (tensor<9xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0, 2]
      : (tensor<4x9x5xf32>, tensor<f32>) -> tensor<9xf32>
  %1:2 = stablehlo.reduce(%b init: %z), (%b init: %z) across dimensions = [1]
      : (tensor<4x9xf32>, tensor<4x9xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
    reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>) {
      stablehlo.return %p, %s : tensor<f32>, tensor<f32>
    }
  return %0, %1#0, %1#1 : tensor<9xf32>, tensor<4xf32>, tensor<4xf32>
}
// stablehlo.reduce => <([i, j, k], [])->([j]) {i=4, j=9, k=5} reduction={i, k}>
// stablehlo.reduce => <([i, j], [i, j], [], [])->([i], [i]) {i=4, j=9} reduction={j}>

// -----

func.func @rw(%a: tensor<8x15xf32>, %z: tensor<f32>) -> (tensor<8x5xf32>, tensor<8x29xf32>) {
  %0 = "stablehlo.reduce_window"(%a, %z) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.maximum %x, %y
      : tensor<f32> stablehlo.return %9 : tensor<f32> }) {window_dimensions = array<i64: 1, 3>,
      window_strides = array<i64: 1, 3>} : (tensor<8x15xf32>, tensor<f32>) -> tensor<8x5xf32>
  %1 = "stablehlo.reduce_window"(%a, %z) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.add %x, %y
      : tensor<f32> stablehlo.return %9 : tensor<f32> }) {window_dimensions = array<i64: 1, 1>,
      base_dilations = array<i64: 1, 2>} : (tensor<8x15xf32>, tensor<f32>) -> tensor<8x29xf32>
  return %0, %1 : tensor<8x5xf32>, tensor<8x29xf32>
}
// stablehlo.reduce_window => <([i, j], [])->([i, j]) {i=8, j=5} permutation={j}>
// stablehlo.reduce_window => <([i, j], [])->([i, j]) {i=8, j=29}>
// conservative stablehlo.reduce_window => <([i, j], [])->([i, j]) {i=8, j=5} permutation={j} blocked_propagation={j}>

// -----

func.func @sas(%a: tensor<7x15xf32>, %e: tensor<7x5xf32>, %z: tensor<f32>) -> tensor<7x15xf32> {
  %0 = "stablehlo.select_and_scatter"(%a, %e,
      %z) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>)
      -> tensor<i1> stablehlo.return %9 : tensor<i1> },
      { ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.add %x, %y : tensor<f32> stablehlo.return %9
      : tensor<f32> }) {window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 3>}
      : (tensor<7x15xf32>, tensor<7x5xf32>, tensor<f32>) -> tensor<7x15xf32>
  return %0 : tensor<7x15xf32>
}
// stablehlo.select_and_scatter => <([i, k], [i, j], [])->([i, k]) {i=7, j=5, k=15} need_replication={j} permutation={k}>
// conservative stablehlo.select_and_scatter => <([i, k], [i, j], [])->([i, k]) {i=7, j=5, k=15} need_replication={j} permutation={k} blocked_propagation={j, k}>

// -----

func.func @rev(%a: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = stablehlo.reverse %a, dims = [1] : tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
// stablehlo.reverse => <([i, j])->([i, j]) {i=5, j=7} permutation={j}>

// -----

func.func @rbg(%s: tensor<3xui64>) -> (tensor<3xui64>, tensor<8x5xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8x5xui32>)
  return %0, %1 : tensor<3xui64>, tensor<8x5xui32>
}
// stablehlo.rng_bit_generator => <([i])->([i], [j, k]) {i=3, j=8, k=5} need_replication={i} blocked_propagation={i}>

// -----

func.func @sorts(%a: tensor<6x5xf32>, %b: tensor<1x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>) {
  %0:2 = "stablehlo.sort"(%a, %a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>,
      %w: tensor<f32>): %9 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>)
      -> tensor<i1> stablehlo.return %9 : tensor<i1> }) {dimension = 1 : i64} : (tensor<6x5xf32>, tensor<6x5xf32>)
      -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %1 = "stablehlo.sort"(%b) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.compare LT, %x, %y
      : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %9 : tensor<i1> }) {dimension = 1 : i64}
      : (tensor<1x5xf32>) -> tensor<1x5xf32>
  %2 = "stablehlo.sort"(%b) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %9 = stablehlo.compare LT, %x, %y
      : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %9 : tensor<i1> }) : (tensor<1x5xf32>)
      -> tensor<1x5xf32>
  return %0#0, %0#1, %1, %2 : tensor<6x5xf32>, tensor<6x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>
}
// stablehlo.sort => <([i, j], [i, j])->([i, j], [i, j]) {i=6, j=5} need_replication={j}>
// stablehlo.sort => <([i, j])->([i, j]) {i=1, j=5} need_replication={j} blocked_propagation={j}>
// stablehlo.sort => <([i, j])->([i, j]) {i=1, j=5}>

// -----

func.func @tr(%a: tensor<2x5x9xf32>) -> tensor<9x2x5xf32> {
  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x5x9xf32>) -> tensor<9x2x5xf32>
  return %0 : tensor<9x2x5xf32>
}
// stablehlo.transpose => <([j, k, i])->([i, j, k]) {i=9, j=2, k=5}>

// -----

func.func @ts(%a: tensor<2x6x6xf32>, %b: tensor<2x6x9xf32>, %c: tensor<2x9x6xf32>, %d: tensor<6x6xf32>,
    %e: tensor<6x9xf32>) -> (tensor<2x6x9xf32>, tensor<2x6x9xf32>, tensor<2x9x6xf32>, tensor<2x9x6xf32>,
    tensor<6x9xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x6x6xf32>, tensor<2x6x9xf32>) -> tensor<2x6x9xf32>
  %1 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x6x6xf32>, tensor<2x6x9xf32>) -> tensor<2x6x9xf32>
  %2 = "stablehlo.triangular_solve"(%a, %c) {left_side = false, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x6x6xf32>, tensor<2x9x6xf32>) -> tensor<2x9x6xf32>
  %3 = "stablehlo.triangular_solve"(%a, %c) {left_side = false, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<2x6x6xf32>, tensor<2x9x6xf32>) -> tensor<2x9x6xf32>
  %4 = "stablehlo.triangular_solve"(%d, %e) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<6x6xf32>, tensor<6x9xf32>) -> tensor<6x9xf32>
  return %0, %1, %2, %3, %4 : tensor<2x6x9xf32>, tensor<2x6x9xf32>, tensor<2x9x6xf32>, tensor<2x9x6xf32>, tensor<6x9xf32>
}
// stablehlo.triangular_solve => <([i, j, l], [i, j, k])->([i, l, k]) {i=2, j=6, k=9, l=6} need_replication={j, k, l}>
// stablehlo.triangular_solve => <([i, l, j], [i, j, k])->([i, l, k]) {i=2, j=6, k=9, l=6} need_replication={j, k, l}>
// stablehlo.triangular_solve => <([i, l, k], [i, j, k])->([i, j, l]) {i=2, j=9, k=6, l=6} need_replication={j, k, l}>
// stablehlo.triangular_solve => <([i, k, l], [i, j, k])->([i, j, l]) {i=2, j=9, k=6, l=6} need_replication={j, k, l}>
// stablehlo.triangular_solve => <([i, k], [i, j])->([k, j]) {i=6, j=9, k=6} need_replication={i, j, k}>

// -----

func.func @cc_pw(%a: tensor<5x9xf32>, %i: tensor<i32>) -> (tensor<5x9xf32>, tensor<5x11xf32>, tensor<5x9xf32>) {
  %0 = stablehlo.custom_call @mhlo.erf(%a) : (tensor<5x9xf32>) -> tensor<5x9xf32>
  %1:2 = stablehlo.custom_call @_SPMDInternalOp_MultiPad(%0, %i) : (tensor<5x9xf32>, tensor<i32>) -> (tensor<5x11xf32>, tensor<5x9xf32>)
  return %0, %1#0, %1#1 : tensor<5x9xf32>, tensor<5x11xf32>, tensor<5x9xf32>
}
// stablehlo.custom_call => <([i, j])->([i, j]) {i=5, j=9}>
// stablehlo.custom_call => <([i, j], [])->([i, j], [i, j]) {i=5, j=11}>

// -----

func.func @linalg(%a: tensor<3x6x6xf32>, %b: tensor<2x9x4xf32>, %c: tensor<2x9x7xf32>, %t: tensor<2x3xf32>,
    %m: tensor<9x4xf32>) -> (tensor<3x6x6xf32>, tensor<3x6xf32>, tensor<2x9x4xf32>, tensor<2x4xf32>, tensor<2x9x7xf32>,
    tensor<9x4xf32>, tensor<4xf32>) {
  %0:2 = stablehlo.custom_call @Eigh(%a) : (tensor<3x6x6xf32>) -> (tensor<3x6x6xf32>, tensor<3x6xf32>)
  %1:2 = stablehlo.custom_call @Qr(%b) : (tensor<2x9x4xf32>) -> (tensor<2x9x4xf32>, tensor<2x4xf32>)
  %2 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%c, %t) : (tensor<2x9x7xf32>, tensor<2x3xf32>) -> tensor<2x9x7xf32>
  %3:2 = stablehlo.custom_call @QrDecompositionBlock(%m) : (tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %1#0, %1#1, %2, %3#0, %3#1 : tensor<3x6x6xf32>, tensor<3x6xf32>, tensor<2x9x4xf32>,
      tensor<2x4xf32>, tensor<2x9x7xf32>, tensor<9x4xf32>, tensor<4xf32>
}
// stablehlo.custom_call => <([i, j, k])->([i, j, k], [i, k]) {i=3, j=6, k=6}>
// stablehlo.custom_call => <([i, j, k])->([i, j, k], [i, l]) {i=2, j=9, k=4, l=4} need_replication={j, k, l}>
// stablehlo.custom_call => <([i, j, k], [i, l])->([i, j, k]) {i=2, j=9, k=7, l=3} need_replication={j, k, l}>
// stablehlo.custom_call => <([i, j])->([i, j], [k]) {i=9, j=4, k=4} need_replication={i, j, k}>

// -----

func.func @topks(%a: tensor<5x30xf32>, %v: tensor<30x5xf32>, %i: tensor<30x5xi32>, %x: tensor<f32>, %y: tensor<i32>)
    -> (tensor<5x4xf32>, tensor<5x4xi32>, tensor<5x30xf32>, tensor<5x30xi32>, tensor<6x5xf32>, tensor<6x5xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) : (tensor<5x30xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
  %1:2 = stablehlo.custom_call @mhlo.topk(%a) : (tensor<5x30xf32>) -> (tensor<5x30xf32>, tensor<5x30xi32>)
  %2:2 = stablehlo.custom_call @ApproxTopK(%v, %i, %x, %y)
      : (tensor<30x5xf32>, tensor<30x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<6x5xf32>, tensor<6x5xi32>)
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<5x4xf32>, tensor<5x4xi32>, tensor<5x30xf32>, tensor<5x30xi32>,
      tensor<6x5xf32>, tensor<6x5xi32>
}
// stablehlo.custom_call => <([i, j])->([i, j], [i, j]) {i=5, j=30} need_replication={j} blocked_propagation={j}>
// stablehlo.custom_call => <([i, j])->([i, j], [i, j]) {i=5, j=30}>
// stablehlo.custom_call => <([i, k], [i, k], [], [])->([j, k], [j, k]) {i=30, j=6, k=5} need_replication={j} blocked_propagation={j}>

// -----

func.func @x64(%a: tensor<3xui32>, %b: tensor<3xui32>) -> (tensor<3xui64>, tensor<8x5xui32>) {
  %0 = stablehlo.custom_call @X64Combine(%a, %b) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui64>
  %1 = stablehlo.custom_call @X64Combine(%b, %a) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui64>
  %2, %3 = stablehlo.rng_bit_generator %1, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8x5xui32>)
  return %0, %3 : tensor<3xui64>, tensor<8x5xui32>
}
// stablehlo.custom_call => <([i], [i])->([i]) {i=3}>
// stablehlo.custom_call => <([i], [i])->([i]) {i=3} need_replication={i} blocked_propagation={i}>

// -----

func.func @norules(%a: tensor<4x6xf32>, %e: tensor<0x4xf32>, %p: tensor<i1>)
    -> (tensor<4x6xf32>, tensor<2x0xf32>, tensor<4x6xf32>, tensor<4xi32>, tensor<4x6xf32>) {
  %0 = stablehlo.optimization_barrier %a : tensor<4x6xf32>
  %1 = stablehlo.reshape %e : (tensor<0x4xf32>) -> tensor<2x0xf32>
  %2 = "stablehlo.if"(%p) ({ stablehlo.return %a : tensor<4x6xf32> }, { stablehlo.return %a : tensor<4x6xf32> })
      : (tensor<i1>) -> tensor<4x6xf32>
  %3 = stablehlo.iota dim = 0 : tensor<4xi32>
  %4 = stablehlo.custom_call @tpu_custom_call(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1, %2, %3, %4 : tensor<4x6xf32>, tensor<2x0xf32>, tensor<4x6xf32>, tensor<4xi32>, tensor<4x6xf32>
}
// stablehlo.optimization_barrier => none
// stablehlo.reshape => none
// stablehlo.if => none
// stablehlo.iota => none
// stablehlo.custom_call => none
