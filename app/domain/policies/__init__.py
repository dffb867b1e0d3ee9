"""Policies: what a release must keep, as values that can be checked, compared and judged by."""
