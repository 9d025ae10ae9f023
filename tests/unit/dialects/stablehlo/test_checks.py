# ruff: noqa: E501 (a line of a program is a line here)
"""Tests of the checks of single ops: the diagnostic code, and the values in the message."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.verification.verify_module import verify_module

ARGUMENTS = (
    "%v: tensor<4xf32>, %w: tensor<5xf32>, %m: tensor<4x8xf32>, %n: tensor<4xi32>, %z: tensor<4xcomplex<f32>>, "
    "%s: tensor<f32>, %i: tensor<i32>, %p: tensor<4xi1>, %q: tensor<i1>, %img: tensor<1x8x8x4xf32>, "
    "%ker: tensor<3x3x4x2xf32>, %rows: tensor<2x1xi32>, %upd: tensor<2x8xf32>, %d: tensor<?xf32>, %tok: !stablehlo.token, %pairs: tensor<4x3x1xi32>, %none: tensor<0xf32>, %u: tensor<4xui32>, %h: tensor<4xf16>, %sizes: tensor<1xi64>, %square: tensor<3x3xi32>"
)
FOLD = "({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x : tensor<f32> })"
GATHER_DIMS = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
DOT = "stablehlo.dot_general"
CONV = "stablehlo.convolution(%img, %ker) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
CONV_TYPES = "(tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>)"

CASES = [
    # elementwise
    ("chlo.tan %n : tensor<4xi32> -> tensor<4xi32>", "D017", "operand tensor<4xi32> must have elements that are floats or complex"),
    ("chlo.erf %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>", "D017", "must have elements that are floats"),
    ("chlo.is_inf %n : tensor<4xi32> -> tensor<4xi1>", "D017", "operand tensor<4xi32>"),
    ("chlo.zeta %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>", "D017", "x tensor<4xi32>"),
    ("chlo.mulhi %v, %v : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>", "D017", "lhs tensor<4xf32> must have elements that are integers"),
    ("stablehlo.cholesky %square, lower = true : tensor<3x3xi32>", "D017", "a tensor<3x3xi32>"),
    ("stablehlo.abs %u : tensor<4xui32>", "D017", "operand tensor<4xui32> must have elements that may be negative"),
    ("stablehlo.sign %u : tensor<4xui32>", "D017", "operand tensor<4xui32> must have elements that may be negative"),
    ("stablehlo.complex %h, %h : tensor<4xcomplex<f16>>", "D017", "lhs tensor<4xf16> must have elements of type f32 or f64"),
    ("stablehlo.bitcast_convert %z : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>", "D017", "must both have real elements, or both complex ones"),
    ("stablehlo.fft %v, type = FFT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>", "D017", "must have complex elements for a transform FFT"),
    ("stablehlo.rng %i, %i, %sizes, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>", "D017", "a tensor<i32> must have elements that are floats"),
    ("stablehlo.add %v, %w : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>", "D013", "lhs tensor<4xf32> and rhs tensor<5xf32>"),
    ("stablehlo.add %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>", "D013", "result tensor<4xf64>"),
    ("stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>", "D012", "result tensor<4xcomplex<f32>> must have element type f32 (inferred from the operand)"),
    ("stablehlo.convert %v : (tensor<4xf32>) -> tensor<5xi32>", "D013", "same shape"),
    ("stablehlo.and %v, %v : tensor<4xf32>", "D017", "booleans or integers"),
    ("stablehlo.cosine %n : tensor<4xi32>", "D017", "floats or complex numbers"),
    ("stablehlo.ceil %z : tensor<4xcomplex<f32>>", "D017", "floats"),
    ("stablehlo.popcnt %v : tensor<4xf32>", "D017", "integers"),
    ("stablehlo.compare EQ, %v, %n : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>", "D013", "same element type"),
    ("stablehlo.compare EQ, %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>", "D012", "i1"),
    ("stablehlo.select %n, %v, %v : tensor<4xi32>, tensor<4xf32>", "D012", "i1"),
    ("stablehlo.select %p, %w, %w : tensor<4xi1>, tensor<5xf32>", "D013", "pred tensor<4xi1>"),
    ("stablehlo.clamp %w, %v, %v : (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "D013", "min tensor<5xf32>"),
    ("stablehlo.complex %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "D012", "complex<f32>"),
    ('stablehlo.tanh %v {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>', "D016", "HIGHEST"),
    # shape
    ('"stablehlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<5xi32>', "D012", "tensor<4xi32>"),
    ("stablehlo.iota dim = 1 : tensor<4xi32>", "D015", "dim 1 in iota_dimension is out of range: the result has rank 1"),
    ("stablehlo.iota dim = 0 : tensor<4xi1>", "D017", "output tensor<4xi1> must not have element type i1"),
    ("stablehlo.broadcast_in_dim %v, dims = [] : (tensor<4xf32>) -> tensor<4x8xf32>", "D014", "broadcast_dimensions must have one element per dim of the operand: expected 1, got 0"),
    ("stablehlo.broadcast_in_dim %v, dims = [2] : (tensor<4xf32>) -> tensor<4x8xf32>", "D015", "dim 2"),
    ("stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf32>) -> tensor<4x8xf32>", "D013", "size of dim 0 of the operand must be 1 or 8, the size of dim 1 of the result, got 4"),
    ("stablehlo.broadcast_in_dim %m, dims = [0, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>", "D015", "broadcast_dimensions must not repeat a dim, got [0, 0]"),
    ("stablehlo.broadcast %v, sizes = [2] : (tensor<4xf32>) -> tensor<4x2xf32>", "D012", "2x4"),
    ("stablehlo.reshape %v : (tensor<4xf32>) -> tensor<5xf32>", "D012", "operand and result must have the same number of elements, got 4 (4) and 5 (5)"),
    ("stablehlo.reshape %v : (tensor<4xf32>) -> tensor<4xi32>", "D013", "same element type"),
    ("stablehlo.transpose %m, dims = [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>", "D014", "permutation"),
    ("stablehlo.transpose %m, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>", "D012", "8x4"),
    ("stablehlo.reverse %m, dims = [2] : tensor<4x8xf32>", "D015", "dim 2"),
    ("stablehlo.bitcast_convert %v : (tensor<4xf32>) -> tensor<4xi8>", "D012", "4x4"),
    ("stablehlo.bitcast_convert %v : (tensor<4xf32>) -> tensor<4xi64>", "D012", "4x2"),
    ("stablehlo.get_dimension_size %m, dim = 2 : (tensor<4x8xf32>) -> tensor<i32>", "D015", "dim 2"),
    ("stablehlo.get_dimension_size %m, dim = 1 : (tensor<4x8xf32>) -> tensor<i64>", "D012", "i32"),
    # slicing
    ("stablehlo.dynamic_slice %v, %s, sizes = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>", "D017", "must have elements that are integers"),
    ("stablehlo.dynamic_slice %v, %q, sizes = [1] : (tensor<4xf32>, tensor<i1>) -> tensor<1xf32>", "D017", "must have elements that are integers"),
    ("stablehlo.dynamic_update_slice %v, %v, %s : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>", "D017", "must have elements that are integers"),
    ("stablehlo.dynamic_reshape %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<?x?x?x?xf32>", "D017", "must have elements that are integers"),
    ("stablehlo.dynamic_reshape %v, %n : (tensor<4xf32>, tensor<4xi32>) -> tensor<?xf32>", "D012", "got 4 for 1"),
    ('"stablehlo.case"(%s) ({ stablehlo.return %v : tensor<4xf32> }) : (tensor<f32>) -> tensor<4xf32>', "D012", "i32"),
    *(
        (f'"stablehlo.gather"(%m, %pairs) <{{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = {collapsed}, {dims}>, slice_sizes = array<i64: 1, 1>}}> : (tensor<4x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3x1xf32>', code, words)
        for collapsed, dims, code, words in (
            ([], "operand_batching_dims = [0], start_indices_batching_dims = [5], start_index_map = [1], index_vector_dim = 2", "D015", "dim 5"),
            ([], "operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2", "D015", "must not include index_vector_dim"),
            ([], "operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2", "D012", "(4, 3)"),
            ([], "operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2", "D014", "got 2"),
            ([], "operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 2", "D015", "must not repeat a dim, got [0, 0]"),
        )
    ),
    ('"stablehlo.all_gather"(%none) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<0xf32>) -> tensor<0xf32>', "D016", "the size of dim 0, all_gather_dim, must not be 0"),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "z", size = 2>]>, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xf32>) -> tensor<8xf32>', "D016", "the mesh has no axis \"x\""),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "z", size = 2>]>, axes = [#stablehlo.axis_ref<name = "z">, #stablehlo.axis_ref<name = "z">]>}> : (tensor<4xf32>) -> tensor<8xf32>', "D016", "axis \"z\" is used twice"),
    ("stablehlo.slice %v [1:5] : (tensor<4xf32>) -> tensor<4xf32>", "D016", "slice 1:5 of dim 0 must lie within its size 4"),
    ("stablehlo.slice %v [0:4:0] : (tensor<4xf32>) -> tensor<4xf32>", "D016", "stride of dim 0 must be at least 1, got 0"),
    ("stablehlo.slice %v [0:4:2] : (tensor<4xf32>) -> tensor<4xf32>", "D012", "shape 2"),
    ("stablehlo.slice %m [0:4] : (tensor<4x8xf32>) -> tensor<4xf32>", "D014", "start_indices"),
    ("stablehlo.dynamic_slice %m, %i, sizes = [2, 2] : (tensor<4x8xf32>, tensor<i32>) -> tensor<2x2xf32>", "D014", "expected one start index per dim of the operand (2), got 1"),
    ("stablehlo.dynamic_slice %v, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>", "D016", "slice size of dim 0 must be from 0 to its size 4, got 5"),
    ("stablehlo.dynamic_update_slice %v, %w, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>", "D016", "size of dim 0 of the update must be at most 4, got 5"),
    ("stablehlo.concatenate %v, %w, dim = 0 : (tensor<4xf32>, tensor<5xf32>) -> tensor<8xf32>", "D012", "shape 9"),
    ("stablehlo.concatenate %m, %upd, dim = 1 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x16xf32>", "D012", "inputs[1] tensor<2x8xf32> must have shape 4x? (inferred from the first input)"),
    ("stablehlo.concatenate %v, dim = 1 : (tensor<4xf32>) -> tensor<4xf32>", "D015", "dim 1"),
    ("stablehlo.pad %v, %s, low = [1], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>", "D012", "shape 9"),
    ("stablehlo.pad %v, %s, low = [-3], high = [-3], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>", "D016", "low padding -3 and high padding -3 of dim 0 of size 4 result in size -2"),
    ("stablehlo.pad %v, %s, low = [0], high = [0], interior = [-1] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>", "D016", "interior"),
    # contraction
    (f"{DOT} %v, %w, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<5xf32>) -> tensor<f32>", "D013", "sizes of contracting dims must match, but dim 0 of lhs has size 4 and dim 0 of rhs has size 5"),
    (f"{DOT} %v, %v, contracting_dims = [0] x [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "D014", "lhs and rhs must have equally many contracting dims, got 1 and 0"),
    (f"{DOT} %v, %v, contracting_dims = [1] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>", "D015", "dim 1 in the dimension numbers of lhs is out of range: lhs has rank 1"),
    (f"{DOT} %m, %m, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>", "D015", "the dimension numbers of lhs must not repeat a dim, got [0, 0]"),
    (f"{DOT} %m, %m, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>", "D012", "shape 4"),
    (f"{DOT} %v, %v, contracting_dims = [0] x [0], precision = [HIGH] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>", "D014", "precision_config must have 0 or 2 entries, one per operand, got 1"),
    ("stablehlo.dot %s, %v : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>", "D011", "lhs must be a vector or a matrix, got rank 0"),
    ("stablehlo.dot %m, %v : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>", "D013", "size 8"),
    # reduction
    ("stablehlo.reduce(%m init: %s) applies stablehlo.add across dimensions = [2] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>", "D015", "dim 2"),
    ("stablehlo.reduce(%m init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>", "D012", "shape 8"),
    ("stablehlo.reduce(%m init: %i) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<i32>) -> tensor<8xf32>", "D013", "init_values[0] tensor<i32>"),
    ("stablehlo.reduce(%m init: %v) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<8xf32>", "D012", "init_values[0] tensor<4xf32> must be a scalar (an init value)"),
    ('"stablehlo.reduce"(%m, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>): stablehlo.return %x : tensor<f32> }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>', "D018", "the region must have two arguments per value: expected 2, got 1"),
    ('"stablehlo.reduce"(%m, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %i : tensor<i32> }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>', "D018", "tensor<i32>"),
    # window
    (f"{CONV}, window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : {CONV_TYPES} -> tensor<1x8x8x2xf32>", "D012", "1x6x6x2"),
    (f"{CONV}, window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 2 : i64}} : {CONV_TYPES} -> tensor<1x6x6x2xf32>", "D013", "lhs has 4 features, expected 4 input features of the kernel times 2 feature groups"),
    (f"{CONV}, window = {{}} {{batch_group_count = 2 : i64, feature_group_count = 1 : i64}} : {CONV_TYPES} -> tensor<1x6x6x2xf32>", "D016", "the batch of lhs, 1, must be divisible by the number of groups, 2"),
    (f"{CONV}, window = {{}} {{batch_group_count = 0 : i64, feature_group_count = 1 : i64}} : {CONV_TYPES} -> tensor<1x6x6x2xf32>", "D016", "batch_group_count must be at least 1, got 0"),
    (f"{CONV}, window = {{stride = [0, 1]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : {CONV_TYPES} -> tensor<1x6x6x2xf32>", "D016", "window_strides of dim 0 must be at least 1, got 0"),
    (f"{CONV}, window = {{pad = [[1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : {CONV_TYPES} -> tensor<1x6x6x2xf32>", "D014", "padding must have two elements per window dim: expected 4, got 2"),
    (f'"stablehlo.reduce_window"(%m, %s) <{{window_dimensions = array<i64: 2>}}> {FOLD} : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>', "D014", "window_dimensions"),
    (f'"stablehlo.reduce_window"(%m, %s) <{{window_dimensions = array<i64: 2, 0>}}> {FOLD} : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x9xf32>', "D016", "at least one element along dim 1, got 0"),
    (f'"stablehlo.reduce_window"(%m, %s) <{{window_dimensions = array<i64: 2, 2>}}> {FOLD} : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x4xf32>', "D012", "3x7"),
    # gather and scatter
    (f'"stablehlo.gather"(%m, %rows) <{{{GATHER_DIMS}, slice_sizes = array<i64: 2, 8>}}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>', "D016", "slice size of dim 0, a collapsed or batching dim, must be at most 1, got 2"),
    (f'"stablehlo.gather"(%m, %rows) <{{{GATHER_DIMS}, slice_sizes = array<i64: 1, 9>}}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x9xf32>', "D016", "slice size of dim 1 must be from 0 to 8, the size of the operand, got 9"),
    (f'"stablehlo.gather"(%m, %rows) <{{{GATHER_DIMS}, slice_sizes = array<i64: 1, 4>}}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>', "D012", "2x4"),
    (f'"stablehlo.gather"(%m, %rows) <{{{GATHER_DIMS.replace("index_vector_dim = 1", "index_vector_dim = 3")}, slice_sizes = array<i64: 1, 8>}}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>', "D015", "index_vector_dim must be from 0 to 2, the rank of the indices, got 3"),
    (f'"stablehlo.scatter"(%m, %rows, %upd) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {FOLD} : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<4x8xf32>', "D012", "2x2"),
    # control
    ('"stablehlo.if"(%q) ({ stablehlo.return %v : tensor<4xf32> }, { stablehlo.return %w : tensor<5xf32> }) : (tensor<i1>) -> tensor<4xf32>', "D018", "expected the values returned by branch 1 to have types (tensor<4xf32>), got (tensor<5xf32>)"),
    ('"stablehlo.if"(%p) ({ stablehlo.return }, { stablehlo.return }) : (tensor<4xi1>) -> ()', "D012", "scalar"),
    ('"stablehlo.case"(%i) : (tensor<i32>) -> ()', "D001", "expected at least one branch"),
    ("stablehlo.while(%x = %i) : tensor<i32> cond { stablehlo.return %i : tensor<i32> } do { stablehlo.return %x : tensor<i32> }", "D018", "the condition must return one tensor<i1>, got (tensor<i32>)"),
    ("stablehlo.while(%x = %i) : tensor<i32> cond { stablehlo.return %q : tensor<i1> } do { stablehlo.return %v : tensor<4xf32> }", "D018", "expected the values returned by the body to have types (tensor<i32>), got (tensor<4xf32>)"),
    (f'"stablehlo.map"(%v, %v) <{{dimensions = array<i64: 1>}}> {FOLD} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>', "D015", "dimensions must be [0], all dims in order, got [1]"),
    ('"stablehlo.optimization_barrier"(%v) : (tensor<4xf32>) -> tensor<5xf32>', "D018", "tensor<5xf32>"),
    # tuples and calls
    ('"stablehlo.tuple"(%v) : (tensor<4xf32>) -> tuple<tensor<5xf32>>', "D012", "tuple<tensor<4xf32>>"),
    ("stablehlo.custom_call @f(%v) {api_version = 9 : i32} : (tensor<4xf32>) -> ()", "D016", "api_version must be from 0 to 4, got 9"),
    ("stablehlo.custom_call @f(%v) {backend_config = {}} : (tensor<4xf32>) -> ()", "D016", "backend_config must be a string for api_version 1, got a dictionary"),
    ("stablehlo.custom_call @f(%v) {operand_layouts = [dense<1> : tensor<1xindex>], result_layouts = []} : (tensor<4xf32>) -> ()", "D016", "entry 0"),
    # collectives
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>', "D012", "shape 8"),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<12xf32>', "D012", "shape 8"),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>', "D016", "a device must appear only once in replica_groups, got [0, 0]"),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>', "D016", "device 1 is missing from replica_groups [0, 2]"),
    ('"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<4xf32>) -> tensor<8xf32>', "D017", "i64"),
    ('stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi16>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.0>>', "D012", "must have the type of the value, tensor<2xi16>"),
    ('stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<3x!quant.uniform<i8:f32, 2.0>>', "D012", "shape 2"),
    (f'"stablehlo.all_reduce"(%v) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {FOLD} : (tensor<4xf32>) -> tensor<5xf32>', "D013", "result[0] tensor<5xf32>"),
    (f'"stablehlo.reduce_scatter"(%w) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}}> {FOLD} : (tensor<5xf32>) -> tensor<2xf32>', "D016", "size 5 of dim 0 must be divisible by 2"),
    ('"stablehlo.all_to_all"(%m) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<16x2xf32>', "D013", "split_count must equal the number of devices in a group, got 4 and 2"),
    ('"stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>', "D016", "a device must be the source of at most one pair, got sources [0, 0]"),
    ('"stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>', "D016", "a device must be the target of at most one pair, got targets [1, 1]"),
    ('"stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>', "D016", "list of pairs"),
    ("stablehlo.partition_id : tensor<i32>", "D012", "ui32"),
    ('"stablehlo.send"(%v, %tok) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token', "D016", "type 3"),
    # linalg and random
    ('"stablehlo.outfeed"(%v) : (tensor<4xf32>) -> tensor<4xf32>', "D011", "token tensor<4xf32> must be a token"),
    ('"stablehlo.outfeed"(%v, %tok) : (tensor<4xf32>, !stablehlo.token) -> tensor<4xf32>', "D011", "result tensor<4xf32> must be a token"),
    ('"stablehlo.infeed"(%tok) : (!stablehlo.token) -> tensor<4xf32>', "D011", "result[0] tensor<4xf32> must be a token"),
    ('"stablehlo.after_all"(%tok, %v) : (!stablehlo.token, tensor<4xf32>) -> !stablehlo.token', "D011", "inputs[1] tensor<4xf32> must be a token"),
    ('"stablehlo.create_token"() : () -> tensor<4xf32>', "D011", "output tensor<4xf32> must be a token"),
    ("stablehlo.cholesky %m : tensor<4x8xf32>", "D011", "a tensor<4x8xf32> must hold square matrices in its last two dims"),
    ("stablehlo.fft %z, type = FFT, length = [5] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>", "D012", "shape 5"),
    ("stablehlo.fft %v, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<4xcomplex<f32>>", "D012", "shape 3"),
    ('"stablehlo.sort"(%v) ({ ^bb0(%x: tensor<f32>): stablehlo.return %q : tensor<i1> }) : (tensor<4xf32>) -> tensor<4xf32>', "D018", "comparator"),
    ('"stablehlo.sort"(%v) <{dimension = 1 : i64}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %q : tensor<i1> }) : (tensor<4xf32>) -> tensor<4xf32>', "D015", "dim 1"),
    ('"stablehlo.batch_norm_inference"(%m, %v, %v, %v, %v) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>', "D012", "element per feature"),
    ("stablehlo.rng %v, %s, %n, distribution = UNIFORM : (tensor<4xf32>, tensor<f32>, tensor<4xi32>) -> tensor<1x2x3x4xf32>", "D012", "a tensor<4xf32> must be a scalar (a parameter of the distribution)"),
    # CHLO
    ("chlo.broadcast_add %v, %w : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>", "D013", "sizes 4 and 5"),
    ("chlo.broadcast_add %m, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>", "D012", "4x8"),
    ("chlo.is_inf %v : tensor<4xf32> -> tensor<4xf32>", "D012", "i1"),
    ("chlo.top_k(%v, k = 5) : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi32>)", "D016", "k must be from 0 to 4, the size of the last dim, got 5"),
    ('"chlo.constant_like"(%v) <{value = 1.0 : f32}> : (tensor<4xf32>) -> tensor<4xf64>', "D012", "f32"),
    ("chlo.scan(%m) inits(%v) dimension=0 { ^bb0(%x: tensor<8xf32>, %y: tensor<4xf32>): stablehlo.return %x, %x : tensor<8xf32>, tensor<8xf32> } : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)", "D018", "expected the values returned by the body to have types (tensor<8xf32>, tensor<4xf32>), got (tensor<8xf32>, tensor<8xf32>)"),
]  # fmt: skip

FINE = [
    "stablehlo.add %d, %d : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>",
    "stablehlo.select %q, %v, %v : tensor<i1>, tensor<4xf32>",
    "stablehlo.clamp %q, %p, %q : (tensor<i1>, tensor<4xi1>, tensor<i1>) -> tensor<4xi1>",
    "stablehlo.clamp %z, %z, %z : tensor<4xcomplex<f32>>",
    "stablehlo.reshape %d : (tensor<?xf32>) -> tensor<2x2xf32>",
    "stablehlo.rng %i, %i, %sizes, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>",
    "stablehlo.concatenate %d, %v, dim = 0 : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>",
    "stablehlo.pad %v, %s, low = [-2], high = [1], interior = [2] : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>",
    '"stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>',
    '"stablehlo.collective_broadcast"(%v) <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>',
    "chlo.broadcast_add %m, %v {broadcast_dimensions = array<i64: 0>} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>",
]  # fmt: skip


def program(op: str) -> str:
    return f"func.func @f({ARGUMENTS}) {{\n  {op}\n  return\n}}\n"


@pytest.mark.parametrize(("op", "code", "words"), CASES)
def test_an_invalid_op_is_one_error_at_its_location(op: str, code: str, words: str) -> None:
    module = parse_module(program(op), "file.mlir")
    with pytest.raises(SdyError) as caught:
        verify_module(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == f"SDY-{code}"
    assert words in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (2, 3)


@pytest.mark.parametrize("op", FINE)
def test_ops_that_may_be_valid_are_accepted(op: str) -> None:
    verify_module(parse_module(program(op)))
