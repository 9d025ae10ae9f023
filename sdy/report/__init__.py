"""From results to text and pictures."""
