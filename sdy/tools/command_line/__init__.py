"""Code that the command-line tools share: arguments, files, user extensions, expected diagnostics."""
