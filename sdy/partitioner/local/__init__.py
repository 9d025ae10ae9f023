"""The local forms of ops, one file per op family."""
