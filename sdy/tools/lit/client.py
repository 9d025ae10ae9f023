"""`python -S -E client.py SOCKET ARGUMENTS...`: runs `sdy-opt ARGUMENTS...` in a fork of the server at a socket.

Without a server, it runs `sdy-opt` in a new process. It is a script that imports only what Python has already loaded
when it starts, and `_socket`, because suites start it often: importing `os` and `socket`, which have more to offer than
`posix` and `_socket`, would take as long as starting Python.
"""

from __future__ import annotations

import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket
from posix import environ, execv, getcwdb  # environ has bytes

STREAMS = (0, 1, 2)


def main(path: str, args: list[str]) -> int:
    """Send the arguments, the directory, the environment and the standard streams; return the exit code."""
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    encoded = [each.encode(encoding, errors) for each in args]
    variables = [name + b"=" + value for name, value in environ.items()]
    message = b"\0".join([getcwdb(), b"%d" % len(args), *encoded, *variables])
    streams = b"".join(each.to_bytes(4, sys.byteorder) for each in STREAMS)  # integers of C
    connection = socket(AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        execv(sys.executable, [sys.executable, "-m", "sdy.tools.sdy_opt", *args])
    connection.sendmsg([len(message).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    connection.sendall(message)
    code = connection.recv(1)
    connection.close()
    return code[0] if code else 1  # the fork printed a traceback


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
