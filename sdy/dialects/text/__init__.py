"""MLIR text: lexer, parser with locations, and printer. Depends on no dialects except `builtin` and `func`."""
