"""`sdy-opt --server=SOCKET`: a process with all modules imported, which forks to answer command lines."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from select import select

from sdy.passes.manager.all import pass_class, pass_names
from sdy.tools.lit.client import STREAMS

Main = Callable[[Sequence[str]], int]

_EXAMPLE = Path(__file__).parents[2] / "examples" / "mlp_dp4_tp2.mlir"


def serve(path: str, main: Main) -> None:
    """Answer the command lines of clients at a socket, each in a fork, until standard input is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system then discards forks that have ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(socket.SOMAXCONN)
        _warm_up(main)
        while not _is_closed(sys.stdin.fileno(), listener):
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _answer(connection, main)
    os.unlink(path)


def _is_closed(standard_input: int, listener: socket.socket) -> bool:
    """Wait for a client or for the end of standard input; return whether it has ended."""
    while True:
        ready, _, _ = select([standard_input, listener], [], [])
        if standard_input in ready and not os.read(standard_input, 4096):
            return True
        if listener in ready:
            return False


def _warm_up(main: Main) -> None:
    """Import all passes, and run some, so that forks find the definitions of ops and what is computed once."""
    for name in pass_names():
        pass_class(name)
    with redirect_stdout(StringIO()):
        main([str(_EXAMPLE)])
        main([str(_EXAMPLE), "--sdy-propagation-pipeline"])
    gc.collect()
    gc.freeze()  # a collection in a fork would copy the memory of the server
    gc.disable()  # forks live briefly


def _answer(connection: socket.socket, main: Main) -> None:
    """Run `main` as the process of the client, send its exit code, and end the fork."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    header, streams, _, _ = socket.recv_fds(connection, 8, len(STREAMS))
    with connection.makefile("rb") as stream:
        fields = list(map(os.fsdecode, stream.read(int.from_bytes(header, "big")).split(b"\0")))
    directory, count, *rest = fields
    args, variables = rest[: int(count)], rest[int(count) :]
    for target, received in zip(STREAMS, streams, strict=True):
        os.dup2(received, target)
        os.close(received)
    os.chdir(directory)
    os.environ.clear()
    for variable in variables:
        name, _, value = variable.partition("=")
        os.environ[name] = value
    code = main(args)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([code]))
    os._exit(code)
