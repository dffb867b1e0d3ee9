"""Least loss of information with levels of its own for every record."""
