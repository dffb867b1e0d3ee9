"""Sharing in social networks: how far an item leaks, whom to show what, and at what risk."""
