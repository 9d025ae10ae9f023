"""The example programs of the package."""

from __future__ import annotations

from pathlib import Path

import sdy

EXAMPLES = sorted((Path(sdy.__file__).parent / "examples").glob("*.mlir"))
EXAMPLE_NAMES = [path.stem for path in EXAMPLES]
