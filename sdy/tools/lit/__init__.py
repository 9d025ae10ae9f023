"""Fast suites of lit: `sdy-opt` calls are answered by forks of a warm process.

`lit.cfg.py` starts the server and replaces `sdy-opt` by the client, which imports only the standard library.
"""
