"""MLIR text: lexer, parser with locations, and printer. Knows no dialect but `builtin` and `func`."""
