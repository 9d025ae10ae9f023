"""Gathers and scatters whose indices have the positions along a dim are read as ones with batching dims."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from support.execution.one_op import (
    MESHES,
    Counts,
    is_proved,
    is_right,
    local_shape,
    placement,
    program,
    shardings,
    small_array,
)
from support.execution.small_ops import SUM, text_of

import sdy
from sdy.model.devices.placement import ProgramPlacement

ROWS, COLUMNS = 256, 1024  # too many elements to follow one by one


@dataclass(frozen=True)
class Form:
    """A way to index row `i` at `%arg1[i]`: with batching dims, or with positions among the indices.

    `positions` has the ops that define these positions, `%p`, for WINDOW rows; it is empty for batching dims.
    """

    positions: str = ""

    def body(self, op: str, rows: int, indices: int, columns: int) -> str:
        """Return the op on `rows` rows at the columns `%arg1`, which has `indices` elements, without its types."""
        window, dropped = f"tensor<{indices}x1xi32>", "0, 1" if self.positions else "1"
        batching = "" if self.positions else "{}_batching_dims = [0], {}_indices_batching_dims = [0], "
        at, ops, components = "%arg1", "", "1"
        if self.positions:
            joined = f"stablehlo.concatenate %p, %arg1, dim = 1 : ({window}, {window}) -> tensor<{indices}x2xi32>"
            ops = self.positions.replace("WINDOW", str(indices)).replace("TYPE", window) + f"\n  %i = {joined}\n  "
            at, components = "%i", "0, 1"
        operand, at_type = text_of((rows, columns)), text_of((indices, 2 if self.positions else 1))
        if op == "gather":
            numbers = (
                f"collapsed_slice_dims = [{dropped}], {batching.format('operand', 'start')}"
                f"start_index_map = [{components}], index_vector_dim = 1"
            )
            return (
                f'{ops}%r = "stablehlo.gather"(%arg0, {at}) <{{dimension_numbers = #stablehlo.gather<{numbers}>, '
                f"slice_sizes = array<i64: 1, 1>}}> : ({operand}, {at_type}) -> {text_of((indices,))}"
            )
        numbers = (
            f"inserted_window_dims = [{dropped}], {batching.format('input', 'scatter')}"
            f"scatter_dims_to_operand_dims = [{components}], index_vector_dim = 1"
        )
        return (
            f'{ops}%r = "stablehlo.scatter"(%arg0, {at}, %arg2) <{{scatter_dimension_numbers = #stablehlo.scatter<'
            f"{numbers}>}}> ({{{SUM}}}) : ({operand}, {at_type}, {text_of((indices,))}) -> {operand}"
        )


OFFSET = """%i0 = stablehlo.iota dim = 0 : TYPE
  %n0 = stablehlo.partition_id : tensor<ui32>
  %m0 = stablehlo.convert %n0 : (tensor<ui32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<STEP> : tensor<i32>
  %s0 = stablehlo.multiply %m0, %w0 : tensor<i32>
  %o = stablehlo.broadcast_in_dim %s0, dims = [] : (tensor<i32>) -> TYPE
  %p = stablehlo.add %i0, %o : TYPE"""
BATCHING, POSITIONS = Form(), Form("%p = stablehlo.iota dim = 0 : TYPE")
FORMS = {
    "batching": BATCHING,
    "positions": POSITIONS,
    "positions of the window of the device": Form(OFFSET.replace("STEP", "WINDOW")),
    "positions of another window": Form(OFFSET.replace("STEP", "1")),
    "positions from 1": Form(
        "%i0 = stablehlo.iota dim = 0 : TYPE\n  %c = stablehlo.constant dense<1> : TYPE\n  "
        "%p = stablehlo.add %i0, %c : TYPE"
    ),
    "positions from the end": Form(
        "%i0 = stablehlo.iota dim = 0 : TYPE\n  %p = stablehlo.reverse %i0, dims = [0] : TYPE"
    ),
    "the first position": Form("%p = stablehlo.constant dense<0> : TYPE"),
}

WINDOW = "positions of the window of the device"
# The pairs of forms that are proved to be equal, with the number of shardings for gathers and for scatters: none, and
# that of rows. Positions of a window are indices of an unsharded operand; a scatter to a window gives no shard.
PROVED = {
    **dict.fromkeys(product(("batching", "positions"), repeat=2), (2, 2)),
    ("batching", WINDOW): (1, 0),
    ("positions", WINDOW): (1, 0),
    ("positions from 1", "positions from 1"): (1, 1),
    ("positions from the end", "positions from the end"): (1, 1),
    ("the first position", "the first position"): (2, 1),
}


def try_all(op: str, whole: str, local: str) -> Counts:
    """Prove one form of an op, on shards on two devices, of another form; each program that is proved must be right."""
    mesh, shapes = MESHES[0], [(ROWS, COLUMNS), (ROWS, 1), (ROWS,)][: 2 if op == "gather" else 3]
    result = shapes[0] if op == "scatter" else (ROWS,)
    inputs = [small_array(shape, seed) for seed, shape in enumerate(shapes)]
    text = program(FORMS[whole].body(op, ROWS, ROWS, COLUMNS), list(map(text_of, shapes)), text_of(result))
    tried = proved = 0
    for of_operand, of_row in product(shardings(shapes[0], mesh), shardings((ROWS,), mesh)):
        chosen = [of_operand, (*of_row, ()), of_row][: len(shapes)]
        operands = tuple(placement(shape, axes, mesh) for shape, axes in zip(shapes, chosen, strict=True))
        on_shards = [local_shape(shape, axes) for shape, axes in zip(shapes, chosen, strict=True)]
        found = on_shards[0] if op == "scatter" else on_shards[1][:1]
        body = FORMS[local].body(op, on_shards[0][0], on_shards[1][0], on_shards[0][1])
        for axes in shardings(result, mesh):
            if local_shape(result, axes) == found:
                boundary = ProgramPlacement(mesh, operands, (placement(result, axes, mesh),))
                on_device = program(body, list(map(text_of, on_shards)), text_of(found))
                tried += 1
                if is_proved(on_device, text, boundary):
                    proved += 1
                    assert is_right(on_device, text, boundary, inputs), (on_device, boundary)
    return Counts(tried, proved)


@pytest.mark.parametrize("local", FORMS)
@pytest.mark.parametrize("whole", FORMS)
@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_indices_at_the_positions_of_rows_are_those_of_batches(op: str, whole: str, local: str) -> None:
    proved = PROVED.get((whole, local), (0, 0))[op == "scatter"]
    assert try_all(op, whole, local) == Counts(6, proved)


@pytest.mark.parametrize("components", ["%n, %n", "%n, %n, %k", "%n, %k, %n"])
def test_positions_that_index_two_dims_are_one_batching_dim(components: str) -> None:
    """One value is two components of the indices, as for the elements of a diagonal."""
    count = components.count("%")
    sizes, dims = "x".join(["8"] * count), ", ".join(map(str, range(count)))
    shards, kinds = ", ".join(['{"x"}', *["{}"] * (count - 1)]), ", ".join(["tensor<8x1xi32>"] * count)
    program = sdy.Program.from_text(f"""
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<{sizes}xf32> {{sdy.sharding = #sdy.sharding<@m, [{shards}]>}}, %k: tensor<8x1xi32>)
    -> tensor<8xf32> {{
  %n = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %i = stablehlo.concatenate {components}, dim = 1 : ({kinds}) -> tensor<8x{count}xi32>
  %0 = "stablehlo.gather"(%a, %i) <{{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [{dims}], start_index_map = [{dims}],
      index_vector_dim = 1>, slice_sizes = array<i64: {", ".join(["1"] * count)}>}}>
    : (tensor<{sizes}xf32>, tensor<8x{count}xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}""")
    assert all(each.agrees for each in program.verify())
    assert program.prove().is_proved
