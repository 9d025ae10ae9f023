"""`why_not` answers for every dim of every argument of the shared models and every axis, in two seconds each."""

from __future__ import annotations

from time import process_time

import pytest
from support.jax_programs.shared_models import MISSING, MODELS, STEMS

import sdy
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape

SECONDS = 2.0  # of CPU time, for one answer
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STEMS, reason=MISSING)]


@pytest.mark.parametrize("name", STEMS)
def test_every_question_is_answered_in_time(name: str) -> None:
    program = sdy.load(MODELS / f"{name}.mlir")
    axes = {axis.name for mesh in meshes_of(program.module).values() for axis in mesh.axes}
    for number, argument in enumerate(main_function(program.module).body.block.args):
        for dim in range(len(static_shape(argument.type) or ())):
            for axis in sorted(axes):
                start = process_time()
                answer = program.why_not(f"%arg{number}", dim=dim, axis=axis)
                seconds = process_time() - start
                assert answer, (number, dim, axis)
                assert seconds < SECONDS, (number, dim, axis, seconds)
