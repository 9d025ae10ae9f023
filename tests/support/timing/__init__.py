"""Time tasks and programs in separate processes."""
