"""The example of a planned reshard in docs/how-bytes-are-saved.md is up to date."""

from __future__ import annotations

import re
from pathlib import Path

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.export.reshards.plan_reshards import PlanReshardsPass
from sdy.passes.run import run_passes

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "how-bytes-are-saved.md").read_text()


def test_the_program_is_lowered_as_shown() -> None:
    program, result = re.findall(r"```mlir\n(.*?)```", GUIDE, re.DOTALL)
    module = parse_module(program, "guide.md")
    run_passes(make_context(), module, [PlanReshardsPass()])
    printed = [line.strip() for line in print_module(module).splitlines()]
    shown = result.splitlines()
    first = printed.index(shown[0])
    assert printed[first : first + len(shown)] == shown
