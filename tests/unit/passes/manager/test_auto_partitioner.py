"""The slot for an auto-partitioner, and where its passes run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.passes.manager import auto_partitioner
from sdy.passes.manager.pipelines import PropagationPipeline
from sdy.passes.run import flattened


@dataclass(frozen=True)
class ChoosePass(ModulePass):
    """Chooses nothing."""

    name = "choose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change nothing."""


@pytest.fixture(autouse=True)
def empty_slot() -> Iterator[None]:
    yield
    auto_partitioner.clear()


def names(pipeline: PropagationPipeline) -> list[str]:
    return [each.name for each in flattened([pipeline])]


def test_its_passes_run_after_propagation_and_only_where_asked() -> None:
    auto_partitioner.register(lambda: [ChoosePass()])
    assert auto_partitioner.is_registered()
    with_it = names(PropagationPipeline(enable_auto_partitioning=True))
    assert with_it.index("sdy-user-priority-propagate") < with_it.index("choose")
    assert with_it.index("choose") < with_it.index("sdy-insert-func-call-reshards")
    assert [name for name in with_it if name != "choose"] == names(PropagationPipeline())


def test_the_slot_holds_one() -> None:
    auto_partitioner.register(lambda: [])
    with pytest.raises(SdyError, match="already registered"):
        auto_partitioner.register(lambda: [])


def test_enabling_it_needs_one() -> None:
    with pytest.raises(SdyError, match="no auto-partitioner is registered"):
        names(PropagationPipeline(enable_auto_partitioning=True))
