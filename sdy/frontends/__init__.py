"""From other systems into our IR."""
