"""What `sdy-opt` runs: each pass reads the IR, computes with the pure packages, and writes the IR."""
