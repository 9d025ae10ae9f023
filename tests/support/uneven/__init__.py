"""Programs with dims that their axes do not divide."""
