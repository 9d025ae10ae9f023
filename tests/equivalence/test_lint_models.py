"""`sdy lint --fix` on the shared models: most become cheaper, all compute the same, and nothing is left to fix."""

from __future__ import annotations

import pytest
from support.jax_programs.shared_models import MISSING, MODELS, STEMS

import sdy

IMPROVED_AT_LEAST = 8
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STEMS, reason=MISSING)]


def test_fixes_improve_models_and_keep_their_values() -> None:
    improved: list[str] = []
    for name in STEMS:
        program = sdy.load(MODELS / f"{name}.mlir")
        fixed, findings = program.with_lint_fixes()
        before, after = (each.partition_summary() for each in (program, fixed))
        assert after.bytes_sent <= before.bytes_sent, name
        assert after.seconds <= before.seconds * (1 + 1e-9), name
        assert all(output.agrees for output in fixed.verify()), name
        assert not sdy.Program.from_text(str(fixed), f"{name}.mlir").with_lint_fixes()[1], name
        if findings:
            improved.append(name)
    assert len(improved) >= IMPROVED_AT_LEAST, improved
