"""`sdy-opt --server=SOCKET`: a process with all modules imported, which forks to answer command lines."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from select import select

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.pipelines import PropagationPipeline
from sdy.passes.run import run_passes
from sdy.tools.lit.client import STREAMS

Main = Callable[[Sequence[str]], int]

_EXAMPLE = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def serve(path: str, main: Main) -> None:
    """Answer the command lines of clients at a socket, each in a fork, until standard input is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system then discards forks that have ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(socket.SOMAXCONN)
        _warm_up()
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


def _warm_up() -> None:
    """Import all passes, and run a pipeline, so that forks find the grammar and the definitions of ops."""
    for name in pass_names():
        pass_class(name)
    module = parse_module(_EXAMPLE)
    run_passes(make_context(), module, [PropagationPipeline()])
    print_module(module)
    gc.disable()  # forks live briefly, and a collection would copy the memory of the server


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
