"""Training steps of libraries at widths where shardings matter, and what XLA makes of plans for them."""
