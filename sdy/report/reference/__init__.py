"""The reference pages of passes and ops, made from the code that they are of."""
