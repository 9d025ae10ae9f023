"""Timelines of tasks on several resources, and the time of messages between any devices."""
