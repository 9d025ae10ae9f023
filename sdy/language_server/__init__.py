"""The language server: answers about the text of a program, and the protocol in which an editor asks for them.

The modules `server`, `protocol` and `code_actions` need the extra `lsp`.
"""
