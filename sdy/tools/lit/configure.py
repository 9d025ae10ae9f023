"""Replaces `sdy-opt` in the RUN lines of a lit suite by the client of a server, which runs as long as lit."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Protocol

from sdy.tools.lit import client

TOOL = r"(?<![-\w./])sdy-opt(?![-\w./])"  # neither a part of a path nor of another name


class Config(Protocol):
    """The part of lit's configuration that changes."""

    substitutions: list[tuple[str, str]]


def configure(config: Config) -> subprocess.Popen[bytes]:
    """Start a server and add the substitution. The server ends when its standard input is closed, as it is at exit."""
    path = str(Path(tempfile.gettempdir()) / f"sdy-opt-{secrets.token_hex(8)}")  # the server removes it
    command = [sys.executable, "-m", "sdy.tools.sdy_opt", f"--server={path}"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE)
    call = shlex.join([sys.executable, "-S", "-E", str(Path(client.__file__)), path])
    config.substitutions.append((TOOL, call))
    return server
