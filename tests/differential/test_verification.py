"""Compare the verification of shardings and collectives with MLIR."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.oracle.jaxlib_mlir import ir, jax_mlir
from support.slow_cases import slow_except

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.grammar.parse import AXIS_LIST, parse_mesh, parse_sharding
from sdy.grammar.write import write_all_to_all_params, write_axes_per_dim, write_axis_list, write_sharding
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import extended, sort_and_merge
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import closed_on

CONTEXT = jax_mlir.make_ir_context()
HEAD = """
sdy.mesh @m = <["a"=2, "b"=2, "u"=12]>
sdy.mesh @n = <["a"=2, "b"=2, "u"=12]>
sdy.mesh @turned = <["b"=2, "a"=2], device_ids=[3, 2, 1, 0]>
"""
MESH = parse_mesh('<["a"=2, "b"=2, "u"=12]>')
MESH_REFS = (AxisRef("a"),)
SAMPLES = 700
UNKNOWN_TO_JAXLIB = ("SDY-D244", "SDY-D245", "SDY-D246")  # checks on changes of unreduced axes


def mlir_accepts(text: str) -> bool:
    with CONTEXT:
        try:
            return bool(ir.Module.parse(text).operation.verify())
        except ir.MLIRError:
            return False


def our_problem(text: str) -> str | None:
    try:
        verify_module(parse_module(text))
    except SdyError as error:
        return error.diagnostics[0].code
    return None


class Sampler:
    """A generator of texts, about half of which are valid."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def ref(self) -> str:
        sub_axes = ["(1)2", "(2)2", "(2)3", "(4)3", "(1)3", "(3)2", "(3)4", "(1)4", "(2)6", "(1)12", "(6)2"]
        names = ['"a"', '"b"', '"u"', *(f'"u":{sub_axis}' for sub_axis in self._random.sample(sub_axes, 2))]
        return self._random.choice(names)

    def refs(self, most: int = 2) -> str:
        return ", ".join(self.ref() for _ in range(self._random.randint(0, most)))

    def one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0

    def dim(self) -> str:
        axes = self.refs()
        opened = f"{axes}, ?" if axes else "?"
        return f"{{{opened if self.one_in(3) else axes}}}{'p1' if self.one_in(8) else ''}"

    def sharding(self, mesh: str = "m") -> str:
        text = f"<@{mesh}, [{self.dim()}, {self.dim()}]"
        for group in ("replicated", "unreduced"):
            if self.one_in(3) and (axes := self.refs()):
                text += f", {group}={{{axes}}}"
        return text + ">"

    def some_refs(self) -> AxisList:
        return AXIS_LIST.parse(f"{{{self.refs(1)}}}")

    def collective(self, in_sharding: TensorSharding) -> str:
        """Return a collective of %x, mostly a valid one for its sharding."""
        op, dims, unreduced = self._step(in_sharding)
        out = replace(closed_on("m", dims, unreduced), mesh=self._random.choice(["m"] * 6 + ["n", "turned"]))
        text = self.sharding() if self.one_in(6) else write_sharding(out)
        return f"%0 = sdy.{op} %x out_sharding={text} : tensor<24x24xf32>"

    def _step(self, in_sharding: TensorSharding) -> tuple[str, AxesPerDim, AxisList]:
        """Return the op without its operand, and the axes that its result is sharded along and unreduced along."""
        dims = tuple(dim.axes for dim in in_sharding.dims)
        name = self._random.choice(["gather", "slice", "scatter", "sharded", "replicated", "reduce", "permute", "all"])
        if name in ("slice", "scatter"):
            axes = (self.some_refs(), self.some_refs())
            further = tuple(extended(old, new, MESH) for old, new in zip(dims, axes, strict=True))
            op = "all_slice" if name == "slice" else "reduce_scatter"
            return f"{op} {write_axes_per_dim(axes)}", further, () if name == "scatter" else in_sharding.unreduced
        if name in ("replicated", "reduce"):
            axes = sort_and_merge(self.some_refs() + self.some_refs(), MESH)
            if name == "reduce":
                return f"all_reduce {write_axis_list(axes)}", dims, ()
            merged = sort_and_merge(in_sharding.unreduced + axes, MESH)
            return f"replicated_to_unreduced {write_axis_list(axes)}", dims, merged
        if name == "permute":
            return "collective_permute", (dims[1], dims[0]) if self.one_in(2) else dims, in_sharding.unreduced
        kept = tuple(axes[: self._random.randint(0, len(axes))] for axes in dims)
        taken = tuple(axes[len(left) :] for axes, left in zip(dims, kept, strict=True))
        if name == "all":
            params = write_all_to_all_params([AllToAllParam(taken[0] or self.some_refs() or MESH_REFS, 0, 1)])
            return f"all_to_all {params}", (kept[0], extended(dims[1], taken[0], MESH)), in_sharding.unreduced
        if name == "gather":
            return f"all_gather {write_axes_per_dim(taken)}", kept, in_sharding.unreduced
        merged = sort_and_merge(in_sharding.unreduced + taken[0] + taken[1], MESH)
        return f"sharded_to_unreduced {write_axes_per_dim(taken)}", kept, merged


def function(sharding: str, body: str = "") -> str:
    argument = f"%x: tensor<24x24xf32> {{sdy.sharding = #sdy.sharding{sharding}}}"
    return f"{HEAD}func.func @f({argument}) {{\n{body}\nreturn\n}}"


@pytest.mark.parametrize("seed", range(3))
def test_shardings_are_accepted_iff_mlir_accepts_them(seed: int) -> None:
    sampler = Sampler(seed)
    texts = [function(sampler.sharding()) for _ in range(SAMPLES)]
    accepted = [mlir_accepts(text) for text in texts]
    assert SAMPLES // 10 < sum(accepted) < SAMPLES
    assert [text for text, theirs in zip(texts, accepted, strict=True) if theirs != (our_problem(text) is None)] == []


@pytest.mark.parametrize("seed", slow_except([0], range(3)))
def test_collectives_are_accepted_iff_mlir_accepts_them(seed: int) -> None:
    sampler = Sampler(seed)
    texts: list[str] = []
    while len(texts) < SAMPLES:
        in_sharding = sampler.sharding()
        if our_problem(function(in_sharding)) is None:
            texts.append(function(in_sharding, sampler.collective(parse_sharding(in_sharding))))
    verdicts = {text: our_problem(text) for text in texts}
    known = {text: code for text, code in verdicts.items() if code not in UNKNOWN_TO_JAXLIB}
    accepted = [text for text in known if mlir_accepts(text)]
    assert len(known) // 3 < len(accepted) < len(known)
    assert accepted == [text for text, code in known.items() if code is None]
