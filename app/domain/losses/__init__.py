"""Losses of information: what a search can minimise."""
