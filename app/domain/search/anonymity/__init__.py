"""Least loss of information under k-anonymity with suppressed records."""
