"""Tells whether programs of several processes can run on this machine."""

from __future__ import annotations

import socket

import pytest


def is_host_name_known() -> bool:
    """Return whether the name of this machine can be resolved."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except socket.gaierror:
        return False
    return True


needs_host_name = pytest.mark.skipif(
    not is_host_name_known(),
    reason="gloo, which JAX uses between processes on CPUs, must be able to resolve the name of this machine",
)
