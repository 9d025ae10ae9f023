"""Exit codes of the commands, other than 0 for success, 1 for a failure and 2 for wrong arguments."""

from __future__ import annotations

INTERRUPTED = 130  # what shells report after Ctrl-C
BROKEN_PIPE = 141  # what shells report for a command ended by SIGPIPE
