"""`python -S -E client.py SOCKET ARGUMENTS...`: runs `sdy-opt ARGUMENTS...` in a fork of the server at a socket.

Without a server, it runs `sdy-opt` in a new process. It is a script that imports little, because suites start it often:
importing `socket`, which has more to offer than `_socket`, would take as long as starting Python.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

STREAMS = (0, 1, 2)


def main(path: str, args: list[str]) -> int:
    """Send the arguments, the directory, the environment and the standard streams; return the exit code."""
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    fields = [os.getcwd(), str(len(args)), *args, *variables]
    message = b"\0".join(map(os.fsencode, fields))
    streams = b"".join(each.to_bytes(4, sys.byteorder) for each in STREAMS)  # integers of C
    connection = socket(AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        os.execv(sys.executable, [sys.executable, "-m", "sdy.tools.sdy_opt", *args])
    connection.sendmsg([len(message).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    connection.sendall(message)
    code = connection.recv(1)
    connection.close()
    return code[0] if code else 1  # the fork printed a traceback


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
