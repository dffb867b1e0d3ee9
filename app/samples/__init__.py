"""Generators of data that look like the real thing and belong to nobody."""
