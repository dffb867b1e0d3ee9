"""Uploads, datasets, dictionaries and hierarchies: what is stored and what work is done on it."""
