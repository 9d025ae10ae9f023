"""Values that live on a single device."""
