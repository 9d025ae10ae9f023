"""Registration of an auto-partitioner and the position of its passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.passes.manager import auto_partitioner
from sdy.passes.run import flattened
from sdy.upstream.pipelines import PropagationPipeline


@dataclass(frozen=True)
class ChoosePass(ModulePass):
    """A pass that changes nothing."""

    name = "choose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change nothing."""


@pytest.fixture(autouse=True)
def empty_slot() -> Iterator[None]:
    yield
    auto_partitioner.clear()


def names(pipeline: PropagationPipeline) -> list[str]:
    return [each.name for each in flattened([pipeline])]


def test_passes_run_after_propagation_if_enabled() -> None:
    auto_partitioner.register(lambda: [ChoosePass()])
    with_it = names(PropagationPipeline(enable_auto_partitioning=True))
    assert with_it.index("sdy-user-priority-propagate") < with_it.index("choose")
    assert with_it.index("choose") < with_it.index("sdy-insert-func-call-reshards")
    assert [name for name in with_it if name != "choose"] == names(PropagationPipeline())


def test_second_registration_is_an_error() -> None:
    auto_partitioner.register(lambda: [])
    with pytest.raises(SdyError, match="already registered"):
        auto_partitioner.register(lambda: [])


def test_enabling_without_registration_is_an_error() -> None:
    with pytest.raises(SdyError, match="no auto-partitioner is registered"):
        names(PropagationPipeline(enable_auto_partitioning=True))
