"""The passes that `sdy-opt` runs: each reads the IR, computes with the packages below, and writes the IR."""
