"""`sdy-opt --server=SOCKET`: a process with all modules imported, whose forks answer command lines.

A fork copies each page of memory that it writes to, which takes longer than a short call. So a fork answers calls until
one might change what later ones print, or until it needs much memory. As a call may wait for another one, as in
`sdy-opt A | sdy-opt B`, each has a fork of its own while it runs; one more waits for the next call.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from select import select

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_class, pass_names
from sdy.tools.command_line.environment import LOG
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.extensions import separate_extensions
from sdy.tools.lit.client import STREAMS

Main = Callable[[Sequence[str]], int]

_EXAMPLES = Path(__file__).parents[2] / "examples"
_MAX_GROWTH = 2  # of the memory of a fork
_IDLE, _ENDED = b"i", b"e"  # what a fork sends to the server after a call


class _Fork:
    """A fork of the server, which answers the connections that it is sent, one by one."""

    def __init__(self, listener: socket.socket, main: Main) -> None:
        self._socket, inner = socket.socketpair()
        if os.fork() == 0:
            listener.close()
            self._socket.close()
            _answer_all(inner, main)
        inner.close()

    def send(self, connection: socket.socket) -> bool:
        """Let the fork answer a connection. Return False if it does not exist any more, because it was killed."""
        try:
            socket.send_fds(self._socket, [b"c"], [connection.fileno()])
        except OSError:
            return False
        return True

    def fileno(self) -> int:
        """Return the file that is ready for `select` when the fork is idle, or has ended."""
        return self._socket.fileno()

    def is_idle(self) -> bool:
        """Return whether the fork waits for a connection: it has ended otherwise."""
        return self._socket.recv(1) == _IDLE


def serve(path: str, main: Main) -> None:
    """Answer the command lines of clients at a socket until standard input is closed.

    Raises: SdyError SDY-T001 if the socket cannot be created.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        _bind(listener, path)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system then discards forks that have ended
        listener.listen(socket.SOMAXCONN)
        _warm_up(main)
        idle, busy = [_Fork(listener, main)], list[_Fork]()
        while True:
            ready, _, _ = select([sys.stdin, listener, *busy], [], [])
            if sys.stdin in ready and not os.read(sys.stdin.fileno(), 4096):
                break
            for fork in [fork for fork in busy if fork in ready]:
                busy.remove(fork)
                if fork.is_idle():
                    idle.append(fork)
            if listener in ready:
                connection, _ = listener.accept()
                with connection:
                    while not (fork := idle.pop() if idle else _Fork(listener, main)).send(connection):
                        pass
                busy.append(fork)
                if not idle:  # one more waits, since it takes time to make one
                    idle.append(_Fork(listener, main))
    os.unlink(path)


def _bind(listener: socket.socket, path: str) -> None:
    """Create the socket, for this user only. Raises: SdyError SDY-T001."""
    mask = os.umask(0o077)
    try:
        listener.bind(path)
    except OSError as error:
        reason = "it exists already" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        hint = "the server creates the socket: use a new path, short and in an existing directory"
        raise SdyError(Diagnostic("SDY-T001", f"cannot listen at {path}: {reason}", hint=hint)) from None
    finally:
        os.umask(mask)


def _warm_up(main: Main) -> None:
    """Import all passes, and run some, so that forks find the definitions of ops and what is computed once."""
    for name in pass_names():
        pass_class(name)
    with redirect_stdout(StringIO()):
        for example in _EXAMPLES.glob("*.mlir"):
            main([str(example), "--sdy-propagation-pipeline"])
            main([str(example)])
    gc.collect()
    gc.freeze()  # a collection in a fork would copy the memory of the server
    gc.disable()  # forks live briefly


def _answer_all(inner: socket.socket, main: Main) -> None:
    """Answer connections until the server ends, or until a call may have changed what the next ones would print."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    limit = _MAX_GROWTH * _peak_memory()
    may_continue = True
    while may_continue:
        _, files, _, _ = socket.recv_fds(inner, 1, 1)
        if not files:
            break
        with socket.socket(fileno=files[0]) as connection:
            may_continue = _answer(connection, main) and _peak_memory() < limit
        inner.sendall(_IDLE if may_continue else _ENDED)
    os._exit(SUCCESS)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _answer(connection: socket.socket, main: Main) -> bool:
    """Run `main` as the process of the client, and send its exit code. Return whether the process may run it again."""
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
    # Who reads from the client would otherwise wait for more of what this process prints.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for target in STREAMS:
        os.dup2(nowhere, target)
    os.close(nowhere)
    connection.sendall(bytes([code]))
    has_extensions = bool(separate_extensions(args)[0])
    return code in (SUCCESS, NO) and not has_extensions and LOG not in os.environ
