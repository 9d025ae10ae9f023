"""Run scripts in HTML pages in headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import ParamSpec

import pytest

P = ParamSpec("P")

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
_SKIPPED = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed: no " + ", ".join(NAMES))
_ANSWER = re.compile(r'<pre id="answer">(.*?)</pre>', re.DOTALL)
# A window has at least 500 pixels, a frame may be narrower.
FRAME = """<!doctype html><body><script>
  addEventListener("message", ({ data }) => {
    const answer = document.createElement("pre");
    answer.id = "answer";
    answer.textContent = data;
    document.body.append(answer);
  });
</script><iframe src="page.html" style="width: WIDTHpx; height: 900px; border: 0"></iframe></body>"""


def needs_browser(test: Callable[P, None]) -> Callable[P, None]:
    """Mark a test that opens pages in Chromium."""
    return pytest.mark.pages(_SKIPPED(test))


def answers(page: str, script: str, directory: Path, width: int = 1400) -> dict[str, object]:
    """Return the object that `script`, the body of a function, returns in the loaded page, of `width` pixels.

    Fail if the page or the script writes to the console, as all errors do.
    """
    assert BROWSER is not None
    query = f"""<script>addEventListener("load", () => {{
      parent.postMessage(JSON.stringify((() => {{ {script} }})()), "*");
    }});</script>"""
    before, end, after = page.rpartition("</body>")
    (directory / "page.html").write_text(before + query + end + after, encoding="utf-8")
    file = directory / "frame.html"
    file.write_text(FRAME.replace("WIDTH", str(width)), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1500,1000"]
    arguments = [f"--user-data-dir={directory / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", file.as_uri()]
    done = subprocess.run([BROWSER, *flags, *arguments], capture_output=True, text=True, timeout=120, check=True)
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert messages == []
    found = _ANSWER.search(done.stdout)
    assert found is not None
    return json.loads(unescape(found[1]))
