"""Releases: made by a rule, or read from a finished file and compared with their dataset."""
