"""Pictures of shardings, compared line by line with those of JAX, and pictures that JAX does not support."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import jax
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from support.jax_programs.functions import mesh

import sdy
from sdy.diagnostics.diagnostic import SdyError

MESH = "x=4,y=2"


def drawn(shape: tuple[int, ...], sharding: str, on: str | None = MESH, *, scale: float = 1.0) -> str:
    stream = StringIO()
    with redirect_stdout(stream):
        sdy.visualize_sharding(shape, sharding, on, use_color=False, scale=scale)
    return stream.getvalue()


def drawn_by_jax(shape: tuple[int, ...], spec: PartitionSpec, *, scale: float) -> str:
    stream = StringIO()
    with redirect_stdout(stream):
        jax.debug.visualize_sharding(shape, NamedSharding(mesh(), spec), use_color=False, scale=scale)
    return stream.getvalue()


SPECS = [
    "P('x', 'y')",
    "P('y', 'x')",
    "P('x', None)",
    "P(None, 'y')",
    "P(None, 'x')",
    "P(('x', 'y'), None)",
    "P(None, ('y', 'x'))",
    "P()",
]


@pytest.mark.parametrize("shape", [(8, 8), (8192, 8192), (8, 64), (64, 8), (16, 24)])
@pytest.mark.parametrize("text", SPECS)
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_matrices_are_drawn_like_jax(text: str, shape: tuple[int, int], scale: float) -> None:
    spec: PartitionSpec = eval(text, {"P": PartitionSpec})
    assert drawn(shape, text, scale=scale) == drawn_by_jax(shape, spec, scale=scale)


@pytest.mark.parametrize("size", [8, 16, 1024])
@pytest.mark.parametrize("text", ["P('x')", "P('y')", "P(('x', 'y'))", "P()"])
def test_vectors_are_drawn_like_jax(text: str, size: int) -> None:
    spec: PartitionSpec = eval(text, {"P": PartitionSpec})
    assert drawn((size,), text) == drawn_by_jax((size,), spec, scale=1.0)


def labels(picture: str) -> list[list[str]]:
    """Return the cells of each line that has cells."""
    lines = [line for line in picture.splitlines() if "CPU" in line]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_devices_are_in_mesh_order() -> None:
    on = '<["x"=4, "y"=2], device_ids=[0, 1, 2, 3, 6, 7, 4, 5]>'
    assert labels(drawn((8, 8), "P('x', 'y')", on)) == [[f"CPU {a}", f"CPU {a + 1}"] for a in (0, 2, 6, 4)]


def test_indivisible_dims_have_smaller_shards_and_padding() -> None:
    picture = drawn((9, 8), "P('x')")
    assert labels(picture) == [["CPU 0,1"], ["CPU 2,3"], ["CPU 4,5"], ["CPU 6,7 (padding)"]]
    wide = drawn((8, 20), "P(None, ('x', 'y'))")
    assert labels(wide) == [[*(f"CPU {device}" for device in range(7)), "CPU 7 (padding)"]]


def test_three_dims_are_drawn_as_matrices_with_their_position() -> None:
    picture = drawn((4, 8, 8), "P('y', 'x', None)")
    assert [line for line in picture.splitlines() if ":" in line] == ["[0:2, :, :]", "[2:4, :, :]"]
    assert labels(picture) == [[f"CPU {device}"] for device in (0, 2, 4, 6, 1, 3, 5, 7)]


def test_scalars_are_one_cell() -> None:
    assert labels(drawn((), "P()")) == [["CPU 0,1,2,3,4,5,6,7"]]


def test_a_sharding_may_have_an_inline_mesh() -> None:
    assert labels(drawn((8, 8), "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", None)) == [
        ["CPU 0,2"],
        ["CPU 1,3"],
    ]
    assert labels(drawn((8, 8), "{maximal device=3}", None)) == [["CPU 3"]]


def test_model_values_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    sharding = sdy.parse_sharding('<@m, [{"x":(2)2}, {}]>')
    sdy.visualize_sharding((8, 8), sharding, sdy.parse_mesh('<["x"=4]>'), device_kind="TPU")
    assert labels(capsys.readouterr().out.replace("TPU", "CPU")) == [["CPU 0,2"], ["CPU 1,3"]]


@pytest.mark.jax
def test_objects_of_jax_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    sharding = pytest.importorskip("jax.sharding")
    mesh = sharding.AbstractMesh((4, 2), ("a", "b"))
    spec = sharding.PartitionSpec("a", ("b",))
    sdy.visualize_sharding((8, 8), "P('a', 'b')", "a=4,b=2")
    expected = capsys.readouterr().out
    for given, on in ((sharding.NamedSharding(mesh, spec), None), (spec, mesh), (spec, "a=4,b=2")):
        sdy.visualize_sharding((8, 8), given, on)
        assert capsys.readouterr().out == expected


@pytest.mark.jax
def test_the_devices_of_a_mesh_of_jax_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    jax = pytest.importorskip("jax")
    devices = jax.devices()
    if len(devices) < 2:
        pytest.skip("one device has one order")
    mesh = jax.sharding.Mesh([devices[1], devices[0]], ("a",))
    sdy.visualize_sharding((2,), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a")))
    drawn = capsys.readouterr().out
    assert drawn.index(f"CPU {devices[1].id}") < drawn.index(f"CPU {devices[0].id}")


def test_another_sharding_is_refused() -> None:
    with pytest.raises(sdy.SdyError, match=r"sdy.visualize_sharding: sharding: expected .* got 3"):
        sdy.visualize_sharding((8, 8), 3, "a=4,b=2")  # pyright: ignore[reportArgumentType]


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    sdy.visualize_sharding((8, 8), "P('x', 'y')", MESH)
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "│" not in out


@pytest.mark.parametrize(
    ("sharding", "on", "code"),
    [
        (sdy.parse_sharding('<@m, [{"x"}]>'), MESH, "SDY-S006"),
        (sdy.parse_sharding('<@m, [{"x"}, {}]>'), None, "SDY-T208"),
        ("P('z', None)", MESH, "SDY-S201"),
        (sdy.parse_sharding('<@m, [{"z"}, {}]>'), MESH, "SDY-S201"),
    ],
)
def test_mistakes(sharding: sdy.TensorSharding | str, on: str | None, code: str) -> None:
    with pytest.raises(SdyError) as raised:
        sdy.visualize_sharding((8, 8), sharding, on)
    assert raised.value.diagnostics[0].code == code
