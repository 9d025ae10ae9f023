"""The errors of a text that changes again and again."""
