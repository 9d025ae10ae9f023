"""The sharding notation as text: one Lark grammar, tree to model, model to text."""
