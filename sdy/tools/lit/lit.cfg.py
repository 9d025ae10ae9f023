"""Configuration of lit: a suite includes it by `lit_config.load_config(config, PATH)` in its own `lit.cfg.py`."""

from sdy.tools.lit.configure import configure

# lit passes `config` as a global variable. The process object keeps the standard input of the server open.
_server = configure(globals()["config"])
