"""A session-wide oracle process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.oracle.process import OracleProcess


@pytest.fixture(scope="session")
def oracle() -> Iterator[OracleProcess]:
    with OracleProcess() as process:
        yield process
