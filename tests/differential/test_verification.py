"""Which shardings and collectives are valid, against MLIR's own verification."""

from __future__ import annotations

import random

import pytest
from support.oracle import ir, jax_mlir

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.verify import verify_module

CONTEXT = jax_mlir.make_ir_context()
HEAD = """
sdy.mesh @m = <["a"=2, "b"=2, "u"=12]>
sdy.mesh @n = <["a"=2, "b"=2, "u"=12]>
sdy.mesh @turned = <["b"=2, "a"=2], device_ids=[3, 2, 1, 0]>
"""
SAMPLES = 700


def mlir_accepts(text: str) -> bool:
    with CONTEXT:
        try:
            return bool(ir.Module.parse(text).operation.verify())
        except ir.MLIRError:
            return False


def we_accept(text: str) -> bool:
    try:
        verify_module(parse_module(text))
    except SdyError:
        return False
    return True


class Sampler:
    """Texts that are valid about as often as not."""

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

    def per_dim(self) -> str:
        return f"[{{{self.refs(1)}}}, {{{self.refs(1)}}}]"

    def collective(self) -> str:
        out = self.sharding(self._random.choice(["m", "m", "m", "n", "turned"]))
        op = self._random.choice(
            [
                f"all_gather {self.per_dim()} %x",
                f"all_slice {self.per_dim()} %x",
                f"all_to_all [{{{self.ref()}}}: {self._random.randint(0, 2)}->{self._random.randint(0, 1)}] %x",
                "collective_permute %x",
                f"all_reduce {{{self.refs()}}} %x",
                f"reduce_scatter {self.per_dim()} %x",
                f"sharded_to_unreduced {self.per_dim()} %x",
                f"replicated_to_unreduced {{{self.refs()}}} %x",
            ]
        )
        return f"%0 = sdy.{op} out_sharding={out} : tensor<24x24xf32>"


def function(sharding: str, body: str = "") -> str:
    argument = f"%x: tensor<24x24xf32> {{sdy.sharding = #sdy.sharding{sharding}}}"
    return f"{HEAD}func.func @f({argument}) {{\n{body}\nreturn\n}}"


@pytest.mark.parametrize("seed", range(3))
def test_shardings(seed: int) -> None:
    sampler = Sampler(seed)
    texts = [function(sampler.sharding()) for _ in range(SAMPLES)]
    accepted = [mlir_accepts(text) for text in texts]
    assert SAMPLES // 10 < sum(accepted) < SAMPLES
    assert [text for text, theirs in zip(texts, accepted, strict=True) if theirs != we_accept(text)] == []


@pytest.mark.parametrize("seed", range(3))
def test_collectives(seed: int) -> None:
    sampler = Sampler(seed)
    texts: list[str] = []
    while len(texts) < SAMPLES:
        text = function(sampler.sharding(), sampler.collective())
        if mlir_accepts(function(text.partition("#sdy.sharding")[2].partition("}) {")[0])):
            texts.append(text)
    assert [text for text in texts if mlir_accepts(text) != we_accept(text)] == []
