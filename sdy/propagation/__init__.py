"""Propagation on numbered values: pure, knows no IR. Imports `sdy.model` and `sdy.diagnostics`."""
