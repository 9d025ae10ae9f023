"""Conversion of shardings between notations, and the errors of malformed texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.grammar.hlo_text import read_hlo_sharding
from sdy.grammar.parse import TENSOR_SHARDING
from sdy.model.devices.hlo_sharding import SubgroupKind, Tiled, Untiled, sharding_of_hlo
from sdy.report.notation import notations, read_any, read_mesh, read_tensor
from sdy.tools.main import main

MESH = "x=4,y=4,data=2"
ROWS = [  # sdy, PartitionSpec, HLO, subscripts
    ('[{"x"}, {"y"}]', "P('x', 'y')", "{devices=[4,4,2]<=[32] last_tile_dim_replicate}", "A[I_X, J_Y]"),
    ("[{}, {}]", "P(None, None)", "{replicated}", "A[I, J]"),
    (
        '[{"y", "x"}, {}]',
        "P(('y', 'x'), None)",
        "{devices=[16,1,2]<=[4,4,2]T(1,0,2) last_tile_dim_replicate}",
        "A[I_{YX}, J]",
    ),
    ('[{"x"}, {"y", "data"}]', "P('x', ('y', 'data'))", "{devices=[4,8]<=[32]}", "A[I_X, J_{y,data}]"),
    (
        '[{"y":(2)2}, {"x":(1)2}]',
        "P('y:(2)2', 'x:(1)2')",
        "{devices=[2,2,8]<=[8,2,2]T(1,0,2) last_tile_dim_replicate}",
        "A[I_{y:(2)2}, J_{x:(1)2}]",
    ),
    (
        '[{}, {"x"}], unreduced={"y"}',
        "P(None, 'x', unreduced={'y'})",
        "{devices=[1,4,4,2]<=[32] last_tile_dims={unreduced, replicated}}",
        "A[I, J_X] {U_Y}",
    ),
]


def rows_of(text: str) -> list[str]:
    sharding, mesh = read_any(text, read_mesh(MESH), 2)
    return [row for _, row in notations(sharding, mesh, None)][:4]


@pytest.mark.parametrize(("dims", "spec", "hlo", "subscripts"), ROWS)
def test_each_notation_is_read_from_each(dims: str, spec: str, hlo: str, subscripts: str) -> None:
    wanted = [f"<@mesh, {dims}>", spec, hlo, subscripts]
    for text in (f"<@m, {dims}>", spec, hlo, subscripts):
        assert rows_of(text) == wanted


def test_shapes_and_bytes_of_one_device() -> None:
    sharding, mesh = read_any("A[I_X, J_{y,data}]", read_mesh(MESH), 2)
    for text in ("bf16[1024,4096]", "1024x4096xbf16"):
        rows = dict(notations(sharding, mesh, read_tensor(text)))
        assert rows["global type"] == "bf16[1024,4096], 8,388,608 bytes"
        assert rows["local type"] == "bf16[256,512], 262,144 bytes"


@pytest.mark.parametrize(
    ("text", "size"),
    [("i4[3]", 2), ("pred[3]", 3), ("3xi1", 3), ("f32[]", 4), ("f32", 4), ("c64[2]", 16), ("f8E4M3FN[5]", 5)],
)
def test_bytes_of_element_types(text: str, size: int) -> None:
    tensor = read_tensor(text)
    assert tensor.text(tensor.shape).endswith(f" {size} bytes")


def test_hlo_shardings_need_no_mesh() -> None:
    for text, mesh in {
        "{devices=[2,4]<=[4,2]T(1,0)}": '<["_axis_0"=4, "_axis_1"=2]>, 8 devices',
        "{devices=[2,2]0,3,1,2}": '<["_axis_0"=2, "_axis_1"=2], device_ids=[0, 3, 1, 2]>, 4 devices',
        "{maximal device=3}": "<[], device_ids=[3]>, 1 devices",
    }.items():
        rows = dict(notations(*read_any(text, None, None), None))
        assert (rows["HloSharding"], rows["@mesh"]) == (text, mesh)


def test_an_inline_mesh_needs_no_other() -> None:
    _, mesh = read_any('<mesh<["a"=2]>, [{"a"}]>', None, 1)
    assert mesh.device_count == 2


def test_trailing_dims_of_a_spec_may_be_left_out() -> None:
    sharding, _ = read_any("PartitionSpec('x')", read_mesh(MESH), 3)
    assert sharding.rank == 3


def test_open_dims_are_unconstrained() -> None:
    assert rows_of("P(P.UNCONSTRAINED, 'x')")[:2] == ['<@mesh, [{?}, {"x"}]>', "P(P.UNCONSTRAINED, 'x')"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("P('x'", "SDY-P111", "expected a partition spec: "),
        ("P(3)", "SDY-P111", "expected an axis, got 3"),
        ("P('x:(2')", "SDY-P111", "expected an axis, got 'x:(2'"),
        ("P('x', order=1)", "SDY-P111", "unknown keyword order of a partition spec"),
        ("P('z', None)", "SDY-S201", 'the mesh has no axis "z"'),
        ("<@m, [{}]>", "SDY-S006", "expected a sharding of 2 dims, got 1"),
        ("A[I_Q, J]", "SDY-P111", "the mesh has no axis Q"),
        ("A[I_X; J]", "SDY-P111", "expected a dim with a subscript, got 'I_X; J'"),
        ("A(I_X)", "SDY-P111", "expected dims in brackets, got 'A(I_X)'"),
        ("{devices=[3,2]<=[8]}", "SDY-P112", "need 6 devices, got 8"),
        ("{devices=[2]<=[20000000]}", "SDY-P112", "need 2 devices, got 20000000"),
        ("{devices=[2,2]0,1,1,3}", "SDY-P112", "devices 0 to 3 exactly once"),
        ("{devices=[4]<=[2,2]T(0,0)}", "SDY-P112", "T(0,0) must be a permutation of the 2 dims"),
        (
            "{devices=[4]<=[4] last_tile_dims={manual, replicated}}",
            "SDY-P112",
            "expected at most 1 subgroups, one per size, got 2",
        ),
        ("{devices=[4,2]<=[8] last_tile_dims={other}}", "SDY-P111", "unknown subgroup other"),
        ("{devices=[x]}", "SDY-P111", "expected an HLO sharding, got"),
        ("{devices=[2,3]<=[6]}", "SDY-T207", "{devices=[2,3]<=[6]} cannot be expressed"),
        ("[Shard(0)]", "SDY-P111", "expected 3 placements, one per axis of the mesh, got 1"),
        ("[Shard(2), Replicate(), Replicate()]", "SDY-P111", "expected dims of a tensor of rank 2, got 2"),
        ("[Shard(0), Splat(1), Replicate()]", "SDY-P111", "expected a placement, got 'Splat(1), Replicate()'"),
        ("Shard(0), Splat(1)", "SDY-P111", "expected a placement, got 'Splat(1)'"),
        ('[Partial("avg"), Replicate(), Replicate()]', "SDY-P111", "expected partial sums"),
        ('[Partial("max"), Partial("min"), Replicate()]', "SDY-P111", "expected partial sums"),
        ("[_StridedShard(0, split_factor=9), Shard(0), Replicate()]", "SDY-P111", "expected a split_factor of 1, "),
        ("{manual}", "SDY-T207", "{manual} cannot be expressed"),
    ],
)
def test_mistakes(text: str, code: str, message: str) -> None:
    with pytest.raises(SdyError) as raised:
        read_any(text, read_mesh(MESH), 2)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message


def test_axes_need_a_mesh() -> None:
    for text in ("P('x')", "A[I_X]", '<@m, [{"x"}]>'):
        with pytest.raises(SdyError) as raised:
            read_any(text, None, None)
        assert raised.value.diagnostics[0].code == "SDY-T208"


def test_a_mesh_may_have_blanks_and_quotes() -> None:
    assert [(axis.name, axis.size) for axis in read_mesh(' a=2 ,"b" = 3').axes] == [("a", 2), ("b", 3)]


def test_malformed_types_and_meshes_are_errors() -> None:
    wrong = ((read_tensor, "four floats", "SDY-T206"), (read_mesh, "x4", "SDY-P101"), (read_mesh, "x=4,y", "SDY-P101"))
    for read, text, code in wrong:
        with pytest.raises(SdyError) as raised:
            read(text)
        assert raised.value.diagnostics[0].code == code


def test_groups_of_one_device_are_none() -> None:
    assert read_hlo_sharding("{devices=[2,2,1]<=[4] last_tile_dims={manual}}") == Tiled((2, 2), (), (0, 1, 2, 3))
    assert read_hlo_sharding("{devices=[1,4]<=[4] last_tile_dims={manual}}") is Untiled.MANUAL
    assert read_hlo_sharding("{devices=[2,2]<=[4] last_tile_dims={manual}}") == Tiled(
        (2,), ((SubgroupKind.MANUAL, 2),), (0, 1, 2, 3)
    )


def test_the_order_of_devices_of_a_mesh_counts() -> None:
    mesh = read_mesh('<["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>')
    sharding = sharding_of_hlo(read_hlo_sharding("{devices=[2,2]<=[2,2]T(1,0)}"), mesh, 2)
    assert sharding == replace(TENSOR_SHARDING.parse('<@m, [{"x"}, {"y"}]>'), mesh=mesh)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notation", "A[I_X, J]", "--mesh", "x=4", "--shape", "f32[8,8]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "PartitionSpec  P('x', None)"
    assert lines[-2:] == [
        "local type     f32[2,8], 64 bytes",
        "in all         256 bytes on 4 devices, 1 copy of each shard",
    ]
    for placements in ("[Shard(0), Replicate()]", "Shard(0), Replicate()"):
        assert main(["notation", placements, "--mesh", "x=4,y=2", "--shape", "f32[8,8]"]) == 0
        assert (
            capsys.readouterr().out.splitlines()[-1] == "in all         512 bytes on 8 devices, 2 copies of each shard"
        )
    assert main(["notation", "P('x')"]) == 2
    assert "SDY-T208" in capsys.readouterr().err


def test_a_reduction_that_other_notations_cannot_express_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notation", '<@m, [{"x"}], unreduced=max{"y"}>', "--mesh", "x=4,y=2"]) == 0
    assert "reduction      max, which only sdy can express" in capsys.readouterr().out
    assert main(["notation", '<@m, [{"x"}], unreduced={"y"}>', "--mesh", "x=4,y=2"]) == 0
    assert "reduction" not in capsys.readouterr().out
