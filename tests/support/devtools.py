"""A page in headless Chromium that tests drive by mouse and keyboard, through the DevTools protocol over pipes."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import F_DUPFD, fcntl
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import cast

from support.browser import BROWSER

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1400,900")
# Chromium reads commands from descriptor 3, and writes messages to descriptor 4.
START = """import os, sys
read, write, *command = sys.argv[1:]
os.dup2(int(read), 3)
os.dup2(int(write), 4)
os.execv(command[0], command)"""
FIRST_FREE = 10  # descriptors from here on are neither of these
Json = dict[str, object]


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Serve a folder on this machine in the context; yield its URL."""

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = {
            **SimpleHTTPRequestHandler.extensions_map,
            ".mjs": "text/javascript",
            ".wasm": "application/wasm",
        }

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name in the base class
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


@contextmanager
def browser_page(profile: Path) -> Generator[Page]:
    """Start Chromium with a profile in this folder; yield an empty page, and end Chromium after the context."""
    assert BROWSER is not None
    commands_read, commands_write = _pipe()
    messages_read, messages_write = _pipe()
    browser = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(commands_read), str(messages_write), *browser],
        pass_fds=(commands_read, messages_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands_read)
    os.close(messages_write)
    try:
        yield Page(commands_write, messages_read)
    finally:
        os.close(commands_write)
        process.terminate()
        process.wait(timeout=20)
        os.close(messages_read)


def _pipe() -> tuple[int, int]:
    """Return the descriptors of the ends of a new pipe, which Chromium's own do not replace."""
    ends = os.pipe()
    read, write = (fcntl(end, F_DUPFD, FIRST_FREE) for end in ends)
    for end in ends:
        os.close(end)
    return read, write


class Page:
    """A page of Chromium. `errors` are what it and its workers wrote to the console, and the uncaught errors."""

    def __init__(self, commands: int, messages: int) -> None:
        """Attach to the first page, over the descriptors of pipes."""
        self.errors: list[str] = []
        self._commands, self._messages = commands, messages
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        targets = cast(list[Json], self._send("Target.getTargets")["targetInfos"])
        (page,) = [each for each in targets if each["type"] == "page"]
        attached = self._send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = str(attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Go to a URL, and wait until the page is loaded."""
        self._send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, expression: str) -> object:
        """Return the value of an expression in JavaScript, or of its promise."""
        found = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return cast(Json, found["result"]).get("value")

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Wait until an expression in JavaScript is true. Raises: TimeoutError if it is not after some seconds."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} is still false; errors: {self.errors}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        script = f"""(() => {{
          const node = document.querySelector({json.dumps(selector)});
          node.scrollIntoView({{ block: "center", behavior: "instant" }});
          const {{ x, y, width, height }} = node.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        }})()"""
        x, y = cast(list[float], self.run(script))
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def focus(self, selector: str) -> None:
        """Give an element the focus."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, such as `ArrowRight`."""
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Backspace": 8}
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def write(self, text: str) -> None:
        """Insert text at the cursor."""
        self._send("Input.insertText", text=text)

    def resize(self, width: int, height: int = 900, *, is_dark: bool = False) -> None:
        """Give the page a size in pixels, and a light or dark colour scheme."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        """Write a picture of the visible part of the page as PNG."""
        path.write_bytes(base64.b64decode(str(self._send("Page.captureScreenshot", format="png")["data"])))

    def _send(self, method: str, **parameters: object) -> Json:
        """Send a command, and return its result."""
        self._number += 1
        command: Json = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return cast(Json, message["result"])

    def _receive(self) -> Json:
        """Return the next message, after noting the error that it may report."""
        while b"\0" not in self._buffer:
            self._buffer += os.read(self._messages, 1 << 16) or b'{"id": -1}\0'
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = cast(Json, json.loads(text))
        if message.get("id") == -1:
            raise EOFError("Chromium has ended")
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.errors.append(json.dumps(message["params"])[:1000])
        return message
