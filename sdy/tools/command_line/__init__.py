"""What the command lines share: arguments, files, user extensions, expected diagnostics."""
