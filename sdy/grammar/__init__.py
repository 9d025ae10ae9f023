"""The sharding notation: a Lark grammar, builders from trees to model values, and writers back to text."""
