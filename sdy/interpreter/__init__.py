"""Execute modules with NumPy, on one device or on all devices at once."""
