"""The `sdy` dialect: attributes, ops, and the sharding notation inside op syntax."""
