"""Signed evidence: statements, envelopes, keys, and how anybody verifies them."""
