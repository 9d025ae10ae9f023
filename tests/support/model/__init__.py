"""Values of sdy.model for tests: parsed from text, drawn by Hypothesis, and graphs of them."""
