"""The command lines `sdy`, `sdy-opt` and `sdy-run`: arguments and printing, no logic. Imports everything; nothing imports it."""
