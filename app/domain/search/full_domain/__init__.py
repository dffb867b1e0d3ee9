"""Least loss of information under privacy criteria with suppressed records."""
