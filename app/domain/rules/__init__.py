"""Disclosure rules: what is shown of whom, and the forms in which people state it."""
