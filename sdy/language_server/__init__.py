"""The language server: what an editor asks about a text, and the protocol. Needs the extra `lsp` for `server` alone."""
