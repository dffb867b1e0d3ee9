"""Disclosure rules as resources: read, built, shown, and answered in batches."""
