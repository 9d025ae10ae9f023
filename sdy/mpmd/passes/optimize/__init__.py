"""Passes that order fragments by a schedule and repeat them where that saves memory."""
