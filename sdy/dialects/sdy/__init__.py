"""The `sdy` dialect: attributes, ops, verification, the notation inside op syntax."""
